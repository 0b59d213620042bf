// Package audience serves the users that campaigns are shown to: segments of the storefront's own users, and audiences
// on other networks (offsite) with their advertisers, campaigns and reports. DESIGN.md has the reasons.
//
// # Segments
//
// The definition of a segment is a record. Its users are uploaded and stored in the engine as sorted keyed hashes, so
// no id of a user is stored. Dynamic segments are stored and answered as they are defined, but this build does not
// evaluate behaviors, so they have no users.
//
// # Offsite
//
// Ads on other networks: audiences and their lists, advertisers, campaigns, their product reports, and the jobs that
// report them to the networks. node/jobs does the jobs.
package audience
