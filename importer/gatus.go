package importer

import "errors"

// gatus reads the configuration of Gatus 5.
func gatus() Source {
	return Source{
		Name: "gatus", Product: "Gatus", Argument: "config.yaml|DIRECTORY",
		Short: "Write the configuration of Gatus as files of a project",
		Long: "Read the configuration of Gatus 5, a file or a directory of files, and write it as files of a project.\n" +
			"Variables such as ${SLACK_URL} stay variables.",
		Example: "  vigil import gatus config.yaml -o vigil/",
		Read:    func(string, Options) (*Result, error) { return nil, errors.New("not there yet") },
	}
}
