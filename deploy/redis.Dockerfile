# Debian's Redis, for machines that reach a package mirror but no registry. Built by script/redis-image.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends redis-server redis-tools \
    && rm -rf /var/lib/apt/lists/*
# The user of the official image, which docker-compose.yml names.
RUN mkdir /data && chown 999:1000 /data
USER 999:1000
CMD ["redis-server"]
