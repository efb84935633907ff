import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct FollowChanges: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Follow every transaction and the objects it changes.",
        discussion: """
            Examples:
              nestc changes                          from now on, until Ctrl-C
              nestc changes --since 0 --json         from the beginning of the store
              nestc changes --since 41 --limit 10    the ten transactions after revision 41
              nestc changes --entity User --entity Phone

            Events: following (once, with the revision where it starts), changes, progress, disconnected, resumed, \
            end. No transaction is missed or repeated, even across lost connections and server restarts. A very large \
            transaction arrives as several events with the same revision; "more" is true in all but the last.

            To continue later, pass the last revision as --since, and the history as --history. The server refuses \
            --since if its journal no longer reaches back that far.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Start after this revision. (default: now)",
            valueName: "revision"
        )
    )
    var since: RevisionArgument?

    @Option(
        help: ArgumentHelp(
            "The history of --since, 32 hex digits. Refuse if the store has another.",
            valueName: "id"
        )
    )
    var history: String?

    @Option(
        help: ArgumentHelp(
            "Only objects of this entity and those below it; may be repeated.",
            valueName: "name"
        ),
        completion: ModelCompletion.entities
    )
    var entity: [String] = []

    @Option(help: ArgumentHelp("End after this many transactions.", valueName: "n"))
    var limit: Int?

    @Option(help: ArgumentHelp("End when this revision is reached.", valueName: "revision"))
    var untilRevision: RevisionArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more") }
        guard let history else { return }
        if self.since == nil { throw ValidationError("--history needs --since") }
        if Identifier128(hex: history) == nil { throw ValidationError("--history must be 32 hexadecimal digits") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let model = try await client.model()
        let entities = try self.entity.map { try model.requireEntity($0).number }
        var since: ResumePoint?
        if let revision = self.since?.revision, let known = await client.server?.historyID {
            since = ResumePoint(historyID: self.history.flatMap { Identifier128(hex: $0) } ?? known, revision: revision)
        }
        try await client.withChanges(since: since, entities: entities) { changes in
            try await OutputReader.closingWhenGone(client) {
                try await self.print(changes, model, client, &output)
            }
        }
    }

    private func print(
        _ changes: Changes,
        _ model: ManagedObjectModel,
        _ client: NestClient,
        _ output: inout Output
    ) async throws {
        var printer = ChangePrinter(model: model)
        var left = self.limit
        do {
            for try await event in changes {
                switch event {
                // The session may have another number after a restart if it has not written anything.
                case .following, .resumed: printer.ownSession = await client.server?.sessionNumber
                case .changes, .progress, .disconnected: break
                }
                if self.global.json {
                    try output.line(printer.json(event))
                } else {
                    for line in printer.lines(event, output) { try output.line(line) }
                }
                try output.flush()
                if case .changes(let part) = event, !part.hasMore {
                    left = left.map { $0 - 1 }
                    if left == 0 { return }
                }
                if let until = self.untilRevision?.revision, let held = changes.position, held.revision >= until {
                    return
                }
            }
        } catch let error as NestError where error.code != .closed {
            if self.global.json {
                try output.line(EventJSON.end(error))
                try output.flush()
            }
            throw error
        }
    }
}
