import ArgumentParser
import Glibc
import NestModel
import NestServer
import NestStore

/// `nestd cluster …`: begins, migrates and leaves a cluster.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Serve one store from several machines: begin, migrate and leave a cluster.",
        discussion: """
            The nodes of a cluster share a log in PostgreSQL (14 or newer). One node leads and takes the writes; the \
            others follow it and serve reads, and another takes over when it fails. Each node has the whole store in \
            its own file.

            Examples:
              nestd cluster init --log postgres://nest@db.example/nest --store nest.sqlite
              nestd --log postgres://nest@db.example/nest --node a --advertise a.example:7000
              nestd cluster migrate --log postgres://nest@db.example/nest --model Shop2.xcdatamodeld --dry-run
              nestd cluster forget b --log postgres://nest@db.example/nest
              nestd cluster leave --store a.sqlite

            NESTD_LOG_URL can take the place of --log. Put the password into ~/.pgpass or the file that PGPASSFILE \
            names. 'nestc cluster' shows the state of a cluster that runs.
            """,
        subcommands: [ClusterInit.self, ClusterMigrate.self, ClusterLeave.self, ClusterForget.self]
    )

    /// Where the log is.
    struct LogOption: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "The PostgreSQL database that has the log. (default: NESTD_LOG_URL)",
                valueName: "url"
            )
        )
        var log: String?

        func url() throws -> String {
            guard ClusterSupport.isBuiltIn else { throw Nestd.failure(78, ClusterSupport.missing("nestd cluster")) }
            let variable = getenv("NESTD_LOG_URL").map { String(cString: $0) }
            guard let url = self.log ?? variable, !url.isEmpty else {
                throw Nestd.failure(64, "specify the log with --log URL, such as --log postgres://db.example/nest")
            }
            if let fault = ClusterSupport.fault(ofURL: url) { throw Nestd.failure(78, fault) }
            return url
        }
    }

    /// Runs a command's work, and ends it with the exit status of its failure.
    static func run<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as LogFailure {
            throw Nestd.failure(error.exitStatus, "\(error)")
        } catch let error as StoreError {
            throw Nestd.failure(error.exitStatus, "\(error)")
        } catch let error as ServerError {
            throw Nestd.failure(error.exitStatus, "\(error)")
        }
    }

    /// Prints a step of long work, for a person.
    static func progress(_ text: String) {
        if isatty(STDERR_FILENO) == 1 { Nestd.printMessage(text) }
    }
}
