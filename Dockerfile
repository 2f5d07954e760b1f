# The dashboard over a store in /data, as an ordinary user; the root file system may be read-only.
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index /wheels/*.whl \
    && rm -rf /wheels \
    && useradd --uid 10001 --create-home ragboard \
    && install -d -o ragboard -g ragboard /data
USER 10001
WORKDIR /data
ENV RAGBOARD_STORE=/data/.ragboard \
    PYTHONDONTWRITEBYTECODE=1
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/health', timeout=4)"]
ENTRYPOINT ["ragboard"]
CMD ["serve", "--host", "0.0.0.0", "--unsafe-bind", "--port", "8501", "--no-browser"]
