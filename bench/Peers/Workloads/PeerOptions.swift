import ArgumentParser

/// What nest can be measured against.
enum PeerChoice: String, CaseIterable, ExpressibleByArgument {
    case redis
    case nats
    case natsCore = "nats-core"
    case etcd
    case postgresql
    case grpc
}

/// What all workloads take.
struct PeerOptions: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "Which peers, of those that are installed.")
    var peers: [PeerChoice] = PeerChoice.allCases

    @Option(help: "Rounds; nest and the peers take turns, figures are medians.")
    var rounds = 3

    @Option(help: ArgumentHelp("Of each measurement that is limited by time.", valueName: "seconds"))
    var seconds = 2.0

    @Option(help: ArgumentHelp("Where the servers' stores are: on the disk in question.", valueName: "directory"))
    var directory = "/tmp"

    @Flag(help: "Print one JSON object per measurement instead of the table.")
    var json = false

    @Option(help: ArgumentHelp("A file that the JSON objects are written to as well.", valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("The gRPC-swift server, which make bench-peers builds.", valueName: "program"))
    var grpcEcho: String?

    func validate() throws {
        guard (1...99).contains(self.rounds) else { throw ValidationError("--rounds is 1 to 99") }
        guard self.seconds > 0, self.seconds <= 600 else {
            throw ValidationError("--seconds is more than 0, at most 600")
        }
    }
}
