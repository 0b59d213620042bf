package resource

import (
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// The formats of answers that are Tabular, and the query parameter that names one. Without it the Accept header decides.
const (
	formatParam   = "format"
	formatJSON    = "json"
	formatCSV     = "csv"
	formatParquet = "parquet"
	csvType       = "text/csv"
	jsonType      = "application/json"
	parquetType   = "application/vnd.apache.parquet"
)

// CompleteThroughHeader has in CSV and Parquet answers what the member completeThrough has in JSON.
const CompleteThroughHeader = "X-Gavel-Complete-Through"

// tableFile is a finished CSV or Parquet body, which marshal writes as it is.
type tableFile []byte

// writeTable is the transformer that replaces a Tabular body by CSV or Parquet when the request asks for it. Errors stay JSON.
func (k *kit) writeTable(ctx huma.Context, _ string, v any) (any, error) {
	body, ok := v.(Tabular)
	if !ok {
		return v, nil
	}
	r, w := humago.Unwrap(ctx)
	isParquet := r.URL.Query().Get(formatParam) == formatParquet
	if !isParquet && !wantsCSV(r) {
		return v, nil
	}
	table := body.Table()
	w.Header().Set(CompleteThroughHeader, table.CompleteThrough.text())
	if table.Page.HasMore {
		w.Header().Set("Link", "<"+k.nextURL(r, table.Page.NextPage)+`>; rel="next"`)
	}
	if isParquet {
		w.Header().Set("Content-Type", parquetType)
		return tableFile(table.parquet()), nil
	}
	w.Header().Set("Content-Type", csvType+"; charset=utf-8; header=present")
	return tableFile(table.csv()), nil
}

// nextURL returns the address of the page at a cursor: that of the request with another next_page. Its path and query are escaped, so
// that nothing of a request can end the header or the address in it. A limit of 0, which asks only whether there are rows, is left out,
// because whoever followed such addresses would never get a row nor an end.
func (k *kit) nextURL(r *http.Request, cursor string) string {
	query := r.URL.Query()
	query.Set("next_page", cursor)
	if limit, err := strconv.Atoi(query.Get("limit")); err == nil && limit == 0 {
		query.Del("limit")
	}
	return k.publicURL + r.URL.EscapedPath() + "?" + query.Encode()
}

// wantsCSV reports whether the format parameter of a request, or without one its Accept header, asks for CSV.
func wantsCSV(r *http.Request) bool {
	if format := r.URL.Query().Get(formatParam); format != "" {
		return format == formatCSV
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return quality(accept, csvType) > quality(accept, jsonType)
}

// quality returns the weight that an Accept header gives a media type by its name, from 0 to 1. Wildcards count for nothing: whoever
// takes everything gets JSON, and whoever names CSV and also takes everything gets CSV.
func quality(accept, kind string) float64 {
	for part := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil || name != kind {
			continue
		}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			return q
		}
		return 1
	}
	return 0
}

// tabular returns the table of the zero body of an output, or false if the output cannot be answered as CSV.
func tabular(output reflect.Type) (Table, bool) {
	field, found := output.FieldByName("Body")
	if !found {
		return Table{}, false
	}
	body, ok := reflect.TypeAssert[Tabular](reflect.Zero(field.Type))
	if !ok {
		return Table{}, false
	}
	return body.Table(), true
}

// describeFormat documents the parameter that selects the format.
func describeFormat() *huma.Param {
	return &huma.Param{
		Name: formatParam, In: "query",
		Description: "csv answers text/csv, parquet application/vnd.apache.parquet, json application/json. Without it an Accept header " +
			"that prefers text/csv to application/json selects CSV, and any other JSON. Errors are always JSON.",
		Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{formatJSON, formatCSV, formatParquet}},
	}
}

// describeTable documents the CSV and Parquet forms of a success answer.
func describeTable(success *huma.Response, table *Table) {
	var names []string
	for _, c := range table.columns() {
		names = append(names, c.name)
	}
	text := func(description string) *huma.Param {
		return &huma.Param{Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	success.Headers[CompleteThroughHeader] = text("Of CSV and Parquet only: completeThrough.")
	success.Headers["Link"] = text(`Of CSV and Parquet only, if there are more rows: the address of the next page, with rel="next".`)
	success.Content[csvType] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString,
		Description: "RFC 4180 in UTF-8, with a header line and a line per row. A column is named like the path of its member in JSON " +
			"and has the same value: a null or absent one is empty, an object of counts is JSON. Text that begins with =, +, -, @, a " +
			"tab or a carriage return gets an apostrophe in front, so that no spreadsheet runs it. Later versions may add columns " +
			"anywhere: read them by name. The columns: " + strings.Join(names, ", ") + ".",
	}}
	success.Content[parquetType] = &huma.MediaType{Schema: &huma.Schema{
		Type: huma.TypeString, Format: "binary",
		Description: "Apache Parquet with a row per row and the columns of CSV, whose names have _ in place of a dot. Times are timestamps, counts " +
			"64-bit integers; exact decimals are texts, objects of counts JSON texts. Every column may be null.",
	}}
}
