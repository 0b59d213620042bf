// Reads exported files with DuckDB, as an analyst would, and prints sums by campaign and by wallet.
//   node sums.mjs DIRECTORY_OF_THE_MARKETPLACE
import { DuckDBInstance } from '@duckdb/node-api'

const root = process.argv[2]
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const rows = async sql => (await connection.runAndReadAll(sql)).getRowObjectsJson()

const sources = {
  parquet: dataset => `read_parquet('${root}/${dataset}/*/*/*.parquet')`,
  ndjson: dataset => `read_json('${root}/${dataset}/*/*/*.ndjson.zst', format = 'newline_delimited', compression = 'zstd')`,
}
const out = {}
for (const [format, from] of Object.entries(sources)) {
  out[format] = {
    campaigns: await rows(`
      SELECT campaign_id AS id, sum(impressions)::VARCHAR AS impressions, sum(clicks)::VARCHAR AS clicks,
        sum(spent_impressions_micros + spent_clicks_micros + spent_purchases_micros)::VARCHAR AS spent,
        sum(attributed_amount_micros)::VARCHAR AS sales
      FROM ${from('rollups')} WHERE campaign_id <> '' GROUP BY campaign_id ORDER BY campaign_id`),
    charged: await rows(`
      SELECT campaign_id AS id, sum(amount_micros)::VARCHAR AS spent
      FROM ${from('journal')} WHERE kind LIKE '%_charge' GROUP BY campaign_id ORDER BY campaign_id`),
    wallets: await rows(`
      SELECT wallet_id AS id, sum(wallet_micros)::VARCHAR AS balance
      FROM ${from('journal')} GROUP BY wallet_id ORDER BY wallet_id`),
    conversions: await rows(`
      SELECT campaign_id AS id, sum(amount_micros - returned_amount_micros)::VARCHAR AS sales
      FROM ${from('conversions')} GROUP BY campaign_id ORDER BY campaign_id`),
    events: await rows(`
      SELECT campaign_id AS id, count(*) FILTER (kind = 'impressions')::VARCHAR AS impressions,
        count(*) FILTER (kind = 'clicks')::VARCHAR AS clicks, sum(charged_micros)::VARCHAR AS spent
      FROM ${from('events')} WHERE campaign_id <> '' GROUP BY campaign_id ORDER BY campaign_id`),
    items: await rows(`
      SELECT item.vendor_id AS id, sum(item.quantity * item.unit_price_micros)::VARCHAR AS sales
      FROM (SELECT unnest(items) AS item FROM ${from('events')} WHERE kind = 'purchases' AND return_of = '') GROUP BY ALL`),
  }
}
out.types = await rows(`
  SELECT typeof(committed_at) AS committed_at, typeof(amount_micros) AS amount_micros FROM ${sources.parquet('journal')} LIMIT 1`)
console.log(JSON.stringify(out))
