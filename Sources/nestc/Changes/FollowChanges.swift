import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct FollowChanges: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Follow what every transaction touches: who, when, which objects, which properties.",
        discussion: """
            Examples:
              nestc changes                          from now on; Ctrl-C ends it
              nestc changes --since 0 --json         from the beginning, as far as the journal goes back
              nestc changes --since 41 --limit 10    the ten transactions after revision 41
              nestc changes --entity User --entity Phone

            Events: following (once, says where it begins), changes, progress, disconnected, resumed, end. Nothing is left out \
            and nothing comes twice, over lost connections and restarts of the server too. A very large transaction comes in \
            several events of the same revision; "more" is true but for the last. Go on later with --since and --history of \
            what was printed: another history is refused.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Begin with what came after this revision; without it, from now on.",
            valueName: "revision"
        )
    )
    var since: RevisionArgument?

    @Option(
        help: ArgumentHelp(
            "The history that --since is of, 32 hex digits; refuse when the store has another.",
            valueName: "id"
        )
    )
    var history: String?

    @Option(
        help: ArgumentHelp(
            "Only objects of this entity, and of the entities below it; may be repeated.",
            valueName: "name"
        )
    )
    var entity: [String] = []

    @Option(help: ArgumentHelp("End after so many transactions.", valueName: "n"))
    var limit: Int?

    @Option(help: ArgumentHelp("End when this revision is reached.", valueName: "revision"))
    var untilRevision: RevisionArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is 1 or more") }
        guard let history else { return }
        if self.since == nil { throw ValidationError("--history needs --since") }
        if Identifier128(hex: history) == nil { throw ValidationError("--history is 32 hexadecimal digits") }
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
                // It may be another after a restart, when this session has not written anything.
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
