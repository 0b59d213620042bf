package resource

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
)

// inBackground runs serve when it is its turn among the long requests of its kind. If the scheduler does not start it, the client
// gets the reason and the time for a repeat: 429 when the marketplace's own work is the reason, 503 when the work of others is.
func inBackground[I, O any](kind limits.Kind, serve func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	if kind == limits.KindNone {
		return serve
	}
	return func(ctx context.Context, in *I) (out *O, err error) {
		caller := CallerOf(ctx)
		defer limits.Waiting(ctx)() // The work takes its own turns, slice by slice.
		err = caller.Background.Run(ctx, caller.Marketplace, kind, func(ctx context.Context) error {
			out, err = serve(ctx, in)
			return err
		})
		return out, backgroundError(err)
	}
}

// tooLongRetry is when a request that ran for too long may be repeated. The same request would run too long again; a smaller one
// may be sent at once.
const tooLongRetry = time.Second

func backgroundError(err error) error {
	if refused, ok := errors.AsType[*limits.WorkRefused](err); ok {
		code := apierr.ServiceUnavailable
		if refused.Own {
			code = apierr.TooManyRequests
		}
		return &Problem{Code: code, Message: refused.Why, RetryAfter: refused.After}
	}
	if errors.Is(err, limits.ErrWorkTooLong) {
		return &Problem{
			Code: apierr.ServiceUnavailable, Message: limits.ErrWorkTooLong.Error() + "; ask for fewer days", RetryAfter: tooLongRetry,
		}
	}
	return ErrorOf(err)
}
