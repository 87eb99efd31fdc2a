# An image with the command. It needs the base image and the package index, and nothing else:
#   docker build -t foldproof .
#   docker run --rm --user "$(id -u)" -v "$PWD:/models" foldproof optimize model.onnx
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE* ./
COPY optimizer optimizer
COPY rules rules
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/foldproof-*.whl)[onnxruntime]" \
    && useradd --create-home foldproof
USER foldproof
WORKDIR /models
ENTRYPOINT ["foldproof"]
CMD ["--help"]
