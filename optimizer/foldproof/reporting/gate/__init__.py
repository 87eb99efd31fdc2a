"""What the gate found, in the forms that services of continuous integration read."""
