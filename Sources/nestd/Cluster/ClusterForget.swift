import ArgumentParser
import NestModel
import NestStore

/// `nestd cluster forget`: removes a node that does not come back.
struct ClusterForget: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove a node that does not come back from the cluster's status.",
        discussion: """
            Examples:
              nestd cluster forget b --log postgres://nest@db.example/nest

            A node that still runs is listed again within seconds: stop it first. Its file is not changed.

            Exit status: 0 the node is forgotten, 66 the cluster has no node of this name, 69 PostgreSQL cannot be \
            reached, 78 the database has no log.
            """
    )

    @Argument(help: "The name of the node.")
    var node: String

    @OptionGroup var log: ClusterCommand.LogOption

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let url = try self.log.url()
        try ClusterCommand.run {
            guard try ClusterSupport.forget(self.node, url) else {
                throw Nestd.failure(66, "the cluster has no node \(self.node)")
            }
        }
        print(self.json ? #"{"forgotten":true}"# : "\(self.node) is forgotten")
    }
}
