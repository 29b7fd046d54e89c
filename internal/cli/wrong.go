package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

// What is wrong with a command, in the words of the command line: neither in those
// of the library that reads it, nor in the names that fields have in the API.

// flagError says what is wrong with a flag.
func flagError(err error) error {
	var wrong *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		dashes := "--"
		if len(unknown.GetSpecifiedName()) == 1 {
			dashes = "-"
		}
		return usagef("there is no flag %s%s", dashes, unknown.GetSpecifiedName())
	case errors.As(err, &bare):
		return usagef("--%s needs a value: %s", bare.GetFlag().Name, bare.GetFlag().Usage)
	case !errors.As(err, &wrong):
		return err
	}
	allowed, known := map[string]string{
		"duration": "a time such as 90s, 10m or 2h",
		"int":      "a whole number, such as 3", "int64": "a whole number, such as 3",
		"float64": "an amount, such as 0.50",
		"bool":    "true or false",
	}[wrong.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return usagef("--%s %q is not usable; allowed is %s", wrong.GetFlag().Name, wrong.GetValue(), allowed)
}

// argsError says what is wrong with the arguments of a command, and how it is called.
func argsError(cmd *cobra.Command, args []string, err error) error {
	if errors.Is(err, errUsage) {
		return err // said already
	}
	if cmd.HasSubCommands() && len(args) > 0 {
		cmd.SuggestionsMinimumDistance = 2
		said := fmt.Sprintf("there is no command %q in %s", args[0], cmd.CommandPath())
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			said += "; did you mean " + strings.Join(like, " or ") + "?"
		}
		return usagef("%s", said)
	}
	names := strings.Fields(cmd.Use)[1:]
	said := ""
	if len(args) > len(names) {
		said = fmt.Sprintf("%q is one too many", args[len(names)])
		if len(names) > 0 {
			said += " (text of several words needs quotation marks)"
		}
	} else {
		var missing []string
		for _, name := range names[len(args):] {
			if !strings.HasPrefix(name, "[") {
				missing = append(missing, name)
			}
		}
		said = strings.Join(missing, " ") + " is missing"
	}
	parent := strings.TrimSuffix(cmd.CommandPath(), cmd.Name())
	said += "; give " + parent + cmd.Use
	if example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n"); example != "" {
		said += ", such as: " + example
	}
	return usagef("%s", said)
}

// refusal is a problem of the server in the words of the command line.
type refusal struct {
	problem *client.Problem
	said    string
}

func (e *refusal) Error() string { return e.said }
func (e *refusal) Unwrap() error { return e.problem }

// inFlags names the flag or argument that each refused value came from.
func inFlags(cmd *cobra.Command, err error) error {
	var problem *client.Problem
	if !errors.As(err, &problem) || len(problem.Errors) == 0 {
		return err
	}
	var lines []string
	for _, f := range problem.Errors {
		name, message := flagOf(cmd, f.Location), worded(cmd, f.Message)
		given, isText := f.Value.(string)
		switch rest, expects := strings.CutPrefix(message, "expected "); {
		case name == "" || strings.HasPrefix(message, name+" "):
		case expects && isText:
			message = fmt.Sprintf("%s %q is not usable; allowed is %s", name, given, rest)
		case expects:
			message = fmt.Sprintf("%s is not usable; allowed is %s", name, rest)
		default:
			message = name + ": " + message
		}
		lines = append(lines, message)
	}
	said := lines[0]
	if len(lines) > 1 {
		said = "these values are not usable:\n  " + strings.Join(lines, "\n  ")
	}
	return &refusal{problem, said}
}

var index = regexp.MustCompile(`\[\d+\]`)

// flagOf is the flag or argument of a command that stands for a place in a request,
// or the place in plain words where there is none.
func flagOf(cmd *cobra.Command, location string) string {
	at := index.ReplaceAllString(location, "")
	for _, part := range []string{"body.", "query.", "path."} {
		at = strings.TrimPrefix(at, part)
	}
	found, most := "", 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		g, ok := f.Value.(*given)
		if !ok {
			return
		}
		path := strings.TrimSuffix(g.path, ".hours") // one flag for start and end
		if (at == path || strings.HasPrefix(at, path+".")) && len(path) > most {
			found, most = "--"+f.Name, len(path)
		}
	})
	field := at[strings.LastIndex(at, ".")+1:]
	if found != "" || field == "" || field == "body" {
		return found
	}
	words := strings.Split(kebab(field), "-")
	for _, name := range []string{kebab(field), map[string]string{"timezone": "zone", "q": "query"}[field], words[0], words[len(words)-1]} {
		if f := cmd.Flags().Lookup(name); f != nil {
			return "--" + f.Name
		}
		if name != "" && strings.Contains(cmd.Use, strings.ToUpper(name)) {
			return strings.ToUpper(name)
		}
	}
	return strings.Join(words, " ")
}

var number = regexp.MustCompile(`\b\d[\d,]*\b`)

// worded puts flags where a message names fields, and times where it counts seconds.
func worded(cmd *cobra.Command, message string) string {
	times := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		g, ok := f.Value.(*given)
		if !ok {
			return
		}
		field := g.path[strings.LastIndex(g.path, ".")+1:]
		if strings.ToLower(field) == field {
			return // a word like any other
		}
		said := regexp.MustCompile(`\b`+field+`\b`).ReplaceAllString(message, "--"+f.Name)
		times = times || said != message && g.kind == aDuration
		message = said
	})
	if !times {
		return message
	}
	return number.ReplaceAllStringFunc(message, func(n string) string {
		s, err := strconv.ParseInt(strings.ReplaceAll(n, ",", ""), 10, 64)
		if err != nil {
			return n
		}
		return seconds(s)
	})
}

// kebab writes camelCase as flags are written.
func kebab(field string) string {
	var b strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
