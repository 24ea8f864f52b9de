# A Python, one virtual environment and nothing else. Any engine builds it: docker build -t fresh-metrics-adapter .
# BASE: an image whose python3 is 3.11 or newer and makes virtual environments. hack/image.sh gives one made from Debian's packages.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
COPY requirements.lock /src/
RUN python3 -m venv /venv \
 && /venv/bin/pip install --disable-pip-version-check --no-compile --require-hashes --requirement /src/requirements.lock
COPY pyproject.toml README.md LICENSE /src/
COPY adapter /src/adapter
# Compiled once, here, and never checked against the sources again: the running container writes nothing.
RUN /venv/bin/pip install --disable-pip-version-check --no-compile --no-deps --no-build-isolation /src \
 && /venv/bin/pip uninstall --yes setuptools pip \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /venv/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="fresh-metrics-adapter" \
      org.opencontainers.image.description="Metrics for the HorizontalPodAutoscaler that are true and young, or withheld with a reason" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /venv /venv
# A Python image brings a pip of its own, which goes; and its standard library uncompiled, which the first start compiles.
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/ensurepip /usr/local/lib/python3*/site-packages/* \
 && /venv/bin/fresh-metrics-adapter --version
ENV PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE 6443
ENTRYPOINT ["/venv/bin/fresh-metrics-adapter"]
