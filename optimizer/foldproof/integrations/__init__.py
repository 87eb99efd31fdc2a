"""How other people's tools use Foldproof. Each module is imported by itself, and needs its partner only then."""
