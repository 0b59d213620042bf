package resource

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/background"
)

// inBackground is serve when it is its turn among the long requests of its kind. When its work was not begun, the caller
// reads why and when to repeat it: 429 for what the marketplace itself has running or has used up, 503 for what others have.
func inBackground[I, O any](kind background.Kind, serve func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	if kind == background.None {
		return serve
	}
	return func(ctx context.Context, in *I) (out *O, err error) {
		caller := CallerOf(ctx)
		defer background.Waiting(ctx)() // The work takes turns of its own, slice by slice.
		err = caller.Background.Run(ctx, caller.Marketplace, kind, func(ctx context.Context) error {
			out, err = serve(ctx, in)
			return err
		})
		return out, ofBackground(err)
	}
}

// tooLongRetry is when a request may be repeated that ran for too long. The same request would do so again; a smaller one
// may come at once.
const tooLongRetry = time.Second

func ofBackground(err error) error {
	if refused, ok := errors.AsType[*background.Refused](err); ok {
		code := apierr.ServiceUnavailable
		if refused.Own {
			code = apierr.TooManyRequests
		}
		return &Problem{Code: code, Message: refused.Why, RetryAfter: refused.After}
	}
	if errors.Is(err, background.ErrTooLong) {
		return &Problem{
			Code: apierr.ServiceUnavailable, Message: background.ErrTooLong.Error() + "; ask for fewer days", RetryAfter: tooLongRetry,
		}
	}
	return Of(err)
}
