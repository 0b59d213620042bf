// Package audience serves the users that campaigns are shown to: segments of the storefront's own users, and audiences
// on other networks (offsite) with their advertisers, campaigns and reports. DESIGN.md has the reasons.
//
// # Segments
//
// The definition of a segment is a record. Its users are stored in the engine as sorted keyed hashes, so no id of a user
// is stored. Those of a static segment are uploaded, those of a dynamic one follow from what they do (shard/behavior).
//
// # Offsite
//
// Ads on other networks: audiences and their lists, advertisers, campaigns, their product reports, and the jobs that
// report them to the networks. node/jobs does the jobs.
package audience
