import ArgumentParser
import Foundation
import NestModel
import NestStore

/// `nestd cluster leave`: makes a node's file an ordinary store.
struct ClusterLeave: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Make the file of a stopped node an ordinary store with a new history.",
        discussion: """
            Examples:
              nestd cluster leave --store a.sqlite
              nestd cluster leave --store a.sqlite.diverged-4711

            The store keeps its objects and its undo. It gets a new history, because the cluster goes on with the old \
            one: clients that come back get snapshots. The cluster itself is not changed; to serve the store alone, \
            stop all nodes, and leave with the node that has the highest position.

            Exit status: 0 the store is an ordinary one, 65 it is damaged, 66 there is no such store, 75 a nestd has \
            it open.
            """
    )

    @Option(help: ArgumentHelp("The node's file.", valueName: "file"))
    var store: String

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard self.store != "" else { throw ValidationError("--store needs the name of a file") }
    }

    func run() throws {
        try ClusterCommand.run {
            let path = Nestd.path(ofStore: self.store)
            let file = try Store.replicaFile(at: path)
            var generator = SystemRandomNumberGenerator()
            let historyID = Identifier128.random(using: &generator)
            switch file {
            case .missing: throw Nestd.failure(66, "there is no store \(self.store)")
            case .ordinary: break
            case .replica: _ = try Store.leaveCluster(path, newHistoryID: historyID)
            }
            try self.print(file, historyID)
        }
    }

    private func print(_ file: Store.ReplicaFile, _ historyID: Identifier128) throws {
        var position: Int64?
        if case .replica(let state, _) = file { position = state.position.position }
        if self.json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let object = Output(history: position.map { _ in "\(historyID)" }, position: position, store: self.store)
            return Swift.print(String(decoding: try encoder.encode(object), as: UTF8.self))
        }
        guard let position else { return Swift.print("\(self.store) belongs to no cluster: nothing to do") }
        Swift.print("\(self.store) left its cluster at position \(position); its new history is \(historyID)")
    }

    private struct Output: Encodable {
        /// `nil`: the store belonged to no cluster.
        let history: String?
        let position: Int64?
        let store: String
    }
}
