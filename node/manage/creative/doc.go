// Package creative serves what ads look like and where they appear: placements, media slots, assets, and the JSON
// templates that the content of banners and sponsored brands fills in.
//
// # Templates
//
// The newest 20 versions of a template are kept (store.TemplateVersionsMax), each with who made it, and can be brought
// back as a new version. Limits: templates cannot be deleted, so neither can their versions; a change through a node
// that does not know versions yet, during an upgrade, starts the history again.
//
// # Placements
//
// A placement describes where sponsored brands appear on a storefront and what their content must have. Limit: a
// template that is archived at the moment in which a placement is created with it may get that placement.
//
// # Media slots
//
// A media slot is a position on a storefront that shows banners. Its fallback is what it shows when no bid wins.
// Limits: the page of a slot has no operations; its id follows from its URL. URLs of fallbacks and pages are http or
// https.
//
// # Assets
//
// An asset is an image, a video or a text that ads show: its record, the signed upload of its file, and the file itself
// for the public.
//
// An upload form uploads one file, once. What a form permits is signed (node/blob). Its nonce is spent by a
// compare-and-set on the asset before a byte of the file is read, and every form leads to an object of its own. So of
// two uploads with one form at most one succeeds, an upload with a replaced form changes nothing, and the file of an
// asset never changes.
//
// An uploaded file is not executed anywhere. Its first 64 KiB decide the type, and it is served with that type. SVG is
// refused. Every file is served with `default-src 'none'; sandbox` and nosniff, HTML as an attachment. The public gets
// a file while it is approved; a reviewer gets a preview URL that is valid for 15 minutes.
//
// Limits: an asset counts as in use while a slot's fallback shows its URL, or a bid of its vendor shows it in a
// campaign that is not terminated. A node that restarts in the middle of an upload leaves the asset in pending_upload
// with a spent form; a new form helps at once. JSON, subtitles and HTML are recognized by their first bytes only.
package creative
