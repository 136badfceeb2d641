-- The owner of the hub's database, who is no superuser. The database's container runs this once, in a new volume.
\getenv password HUB_OWNER_PASSWORD
CREATE ROLE hub_owner LOGIN CREATEROLE PASSWORD :'password';
ALTER DATABASE hub OWNER TO hub_owner;
