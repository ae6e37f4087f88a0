# Build: everything is here, compilers too, so that better-sqlite3 is built where no ready one is offered for this machine.
FROM node:24-bookworm AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-progress
COPY . .
RUN npm run build && npm prune --omit=dev --no-progress
# What only a compiler reads is a third of the packages' size.
RUN rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src node_modules/better-sqlite3/build/Release/obj* node_modules/better-sqlite3/build/Release/*.a \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    HERMES_HOME=/data \
    HERMES_HTTP_HOST=0.0.0.0 \
    HERMES_HTTP_PORT=8642 \
    npm_config_cache=/tmp/npm
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/examples ./examples
COPY --from=build /app/dist ./dist
# The home folder belongs to the image's user `node`; a new named volume takes that over.
RUN ln -s /app/dist/hermes.js /usr/local/bin/hermes && mkdir -m 700 /data && chown 1000:1000 /data
VOLUME ["/data"]
USER 1000:1000
EXPOSE 8642
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HERMES_HTTP_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/hermes.js"]
CMD ["gateway", "run"]
