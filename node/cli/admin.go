package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gavel-ads/gavel/node/operator"
)

// adminCommand holds the commands about the people who may do everything in the console.
type adminCommand struct {
	Create        adminCreate        `cmd:"" help:"Create an admin of the console on the node's own machine."`
	List          adminList          `cmd:"" help:"List the admins of the console."`
	Remove        adminRemove        `cmd:"" help:"Remove a user of the console; all sessions of the user end."`
	ResetPassword adminResetPassword `cmd:"" help:"Set another password for a user of the console and turn its second factor off; all sessions of the user end."`
}

// newPassword is where the password of a user comes from.
type newPassword struct {
	PasswordFrom string `help:"File whose first line is the password, 12 to 256 characters; - is standard input. Default: a random password is made and printed." placeholder:"FILE"`
}

// choose returns the password, and whether it was made here, so that it has to be printed.
func (n newPassword) choose() (password string, made bool, err error) {
	var text []byte
	switch n.PasswordFrom {
	case "":
		return rand.Text(), true, nil
	case "-":
		text, err = io.ReadAll(io.LimitReader(os.Stdin, passwordFileMax))
	default:
		text, err = os.ReadFile(n.PasswordFrom)
	}
	password, _, _ = strings.Cut(string(text), "\n")
	return strings.TrimSuffix(password, "\r"), false, err
}

// passwordFileMax bounds what is read of standard input for a password. BOUND: a password has at most 256 characters.
const passwordFileMax = 4 << 10

// printPassword prints a password that was made here.
func printPassword(p *process, email, password string, made bool) error {
	if !made {
		return nil
	}
	_, err := fmt.Fprintf(p.out, "the password of %s, shown this once: %s\n", email, password)
	return err
}

// adminCreate creates an admin.
type adminCreate struct {
	Email string `arg:"" help:"E-mail address with which the admin signs in."`
	Name  string `help:"Name of the person; default: the address." placeholder:"NAME"`
	newPassword

	settings
}

// Help says how the admin is made.
func (adminCreate) Help() string { return localHelp }

// Run creates the admin.
func (c *adminCreate) Run(p *process) error {
	password, made, err := c.choose()
	if err != nil {
		return usageError{fmt.Errorf("gavel: --password-from: %w", err)}
	}
	name := c.Name
	if name == "" {
		name = c.Email
	}
	return c.withLocal(p, func(ctx context.Context, local operator.Local) error {
		if err := local.CreateAdmin(ctx, operator.AdminRequest{Email: c.Email, Name: name, Password: password}); err != nil {
			return err
		}
		return printPassword(p, c.Email, password, made)
	})
}

// adminList lists admins.
type adminList struct{ settings }

// Help says how the admins are found.
func (adminList) Help() string { return localHelp }

// Run prints a table.
func (c *adminList) Run(p *process) error {
	return c.withLocal(p, func(ctx context.Context, local operator.Local) error {
		all, err := local.ListAdmins(ctx)
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "E-MAIL\tNAME\tCREATED")
		for _, a := range all {
			fmt.Fprintf(t, "%s\t%s\t%s\n", printable(a.Email), printable(a.Name), time.UnixMilli(a.CreatedMillis).UTC().Format(time.RFC3339))
		}
		return t.Flush()
	})
}

// adminRemove removes a user.
type adminRemove struct {
	Email string `arg:"" help:"E-mail address of the user."`

	settings
}

// Help says how the user is removed.
func (adminRemove) Help() string { return localHelp }

// Run removes the user.
func (c *adminRemove) Run(p *process) error {
	return c.withLocal(p, func(ctx context.Context, local operator.Local) error {
		if err := local.RemoveAdmin(ctx, c.Email); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "%s is removed\n", c.Email)
		return err
	})
}

// adminResetPassword sets a password.
type adminResetPassword struct {
	Email string `arg:"" help:"E-mail address of the user."`
	newPassword

	settings
}

// Help says how the password is set.
func (adminResetPassword) Help() string { return localHelp }

// Run sets the password.
func (c *adminResetPassword) Run(p *process) error {
	password, made, err := c.choose()
	if err != nil {
		return usageError{fmt.Errorf("gavel: --password-from: %w", err)}
	}
	return c.withLocal(p, func(ctx context.Context, local operator.Local) error {
		if err := local.ResetPassword(ctx, c.Email, operator.PasswordRequest{Password: password}); err != nil {
			return err
		}
		return printPassword(p, c.Email, password, made)
	})
}
