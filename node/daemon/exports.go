package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/export"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/shard"
)

// startExports starts the export of the groups that this node leads, if it is configured.
func (n *node) startExports() error {
	if n.cfg.Export.Driver == "off" {
		return nil
	}
	target, err := n.openExports()
	if err != nil {
		return fmt.Errorf("exports: %w", err)
	}
	n.exporter = &export.Exporter{
		Store: n.store, Target: target, Formats: exportFormats(n.cfg.Export.Format), Groups: n.dataGroups(), Leads: n.cluster.Leads,
		Marketplaces: n.ordinals, Log: n.log,
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.exporter.Run(ctx)
	}()
	n.push("exports", func(context.Context) error {
		stop()
		<-ended
		return nil
	})
	return nil
}

// openExports opens the directory or bucket of the exports. A bucket is contacted only when it is used.
func (n *node) openExports() (blob.Paths, error) {
	c, b := n.cfg.Export, n.cfg.Blob
	if c.Driver == "s3" {
		return blob.OpenS3(blob.S3Config{
			Endpoint: b.Endpoint, Region: b.Region, Bucket: cmp.Or(c.Bucket, b.Bucket), Prefix: c.Prefix,
			AccessKey: b.AccessKey.Reveal(), SecretKey: b.SecretKey.Reveal(), Insecure: b.Insecure,
		})
	}
	dir, err := blob.OpenMounted(c.Dir)
	if err != nil {
		return nil, err
	}
	n.push("exports directory", func(context.Context) error { return dir.Close() })
	return dir, nil
}

func exportFormats(setting string) []export.Format {
	switch setting {
	case "ndjson":
		return []export.Format{export.NDJSONZstd}
	case "both":
		return []export.Format{export.Parquet, export.NDJSONZstd}
	default:
		return []export.Format{export.Parquet}
	}
}

// Export writes what all groups have of a dataset of a marketplace.
func (k localKeys) Export(ctx context.Context, marketplace string, r operator.ExportRequest, w io.Writer) error {
	ordinal, err := k.ordinalOf(marketplace)
	if err != nil {
		return err
	}
	tenant := k.store.Tenant(ordinal)
	if export.Dataset(r.Dataset) == export.Events && tenant.Settings().EventDays == 0 {
		return operator.ErrNoEvents
	}
	groups := k.dataGroups()
	for _, g := range groups {
		if err := k.cluster.Barrier(ctx, g); err != nil {
			return err
		}
	}
	span := shard.Span{From: r.From.UnixMilli(), To: r.To.UnixMilli()}
	_, err = export.Write(ctx, tenant, groups, export.Dataset(r.Dataset), span, export.Format(r.Format), w)
	return err
}

// exportMetrics reads what was exported.
func (n *node) exportMetrics() *metrics.Exports {
	if n.exporter == nil {
		return nil
	}
	s := n.exporter.Stats()
	return &metrics.Exports{Rows: s.Rows, Files: s.Files, Failures: s.Failures, Lag: s.Lag}
}
