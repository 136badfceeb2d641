#!/bin/sh
# Writes the secrets of compose.yaml beside it, closed to others, each for the containers that need it; it replaces none.
set -euC
umask 077
cd "$(dirname "$0")"
for each in database owner login hub key; do
    [ ! -e $each.env ] || { echo "$each.env is there already: move it away first." >&2; exit 1; }
done
random() { openssl rand -hex 32; }
superuser=$(random) owner=$(random) server=$(random) key=$(random)
printf 'POSTGRES_PASSWORD=%s\nHUB_OWNER_PASSWORD=%s\n' "$superuser" "$owner" > database.env
printf 'ANAMNESIS_HUB_DATABASE=postgresql://hub_owner:%s@database/hub\n' "$owner" > owner.env
printf 'ANAMNESIS_HUB_SERVER=postgresql://hub_server:%s@database/hub\n' "$server" > login.env
printf 'ANAMNESIS_HUB_DATABASE=postgresql://hub_server:%s@database/hub\n' "$server" > hub.env
printf 'ANAMNESIS_HUB_KEY=%s\n' "$key" > key.env
