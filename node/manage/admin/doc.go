// Package admin serves what the people who run a marketplace need: the marketplaces of a cluster, settings, API keys,
// users and their invitations, webhooks, and the log of changes.
//
// # Marketplaces and keys
//
// The operator of a cluster creates, names, suspends and reactivates marketplaces, but reads nothing of what is in
// them. Holders of a management key of the first marketplace are the operator. The keys of a new marketplace are
// answered once; if they are lost, createMarketplaceKeys makes new ones. The text of any API key is answered once, when
// it is made.
//
// # Settings
//
// store.Tenant.ChangeSettings says how a change of settings reaches every group. Limit: a change of geoMode leaves the
// locations of bids as they are. Those that are not valid in the new mode match nothing.
//
// # Users and invitations
//
// Advertiser users are the people who work for the marketplace's vendors. Invitations are links by which they become
// users.
//
// If a mail server is configured (smtp.server), the command that writes an invitation also schedules its email. The
// leader sends it with up to six attempts over about an hour. It counts an attempt before it makes it, so a leader that
// stops in between causes one repeat, later and with the same Message-ID. The invitation shows the state of the email,
// the log has the failures, and the metric gavel_mails_total counts both. Without a mail server the marketplace sends
// acceptUrl itself.
//
// An invitation is accepted in the console (node/console), to which acceptUrl leads; or its user gets the vendor in
// another way. It lasts for invitations.ttl, 72 hours by default. A renewed invitation keeps its
// link; an expired one stays in the list next to its successor.
//
// # Webhooks and the audit log
//
// Webhooks are URLs that are notified of changes. The log of their notifications shows the kind of a failure
// (delivery.Reason) and no address: the cause, with the addresses that a name resolved to, is only in the node's log.
// The audit log has all changes that were made through the management API.
package admin
