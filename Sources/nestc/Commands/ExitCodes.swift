import ArgumentParser
import NestDocuments

/// `nestc help exit-codes`: a help topic in the form of a command. When run, it prints the same table.
struct ExitCodes: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exit-codes",
        abstract: "List the exit codes of nestc.",
        discussion: ExitStatus.table
    )

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var output = Output()
        if self.global.json {
            for status in ExitStatus.allCases {
                try output.line(
                    .object { json in
                        json.field("exit", status.rawValue)
                        json.field("meaning", status.meaning)
                    }
                )
            }
        } else {
            try output.line(ExitStatus.table)
        }
        try output.flush()
    }
}

extension ExitStatus {
    static let table = ExitStatus.allCases.map { status in
        let code = "\(status.rawValue)"
        return String(repeating: " ", count: 3 - code.utf8.count) + code + "  " + status.meaning
    }.joined(separator: "\n")
}
