// Command dogwatch is everything: server, worker, and the commands that use them.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // zones on hosts that have none

	"github.com/dogwatch/dogwatch/internal/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:])) }
