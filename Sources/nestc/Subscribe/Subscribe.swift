import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Subscribe: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow a list of objects: what they are, then every change.",
        discussion: """
            Examples:
              nestc subscribe                        on a terminal: a live list; Ctrl-C ends it
              nestc subscribe --parent 2 --json      the children of item 2; one JSON event per line
              nestc subscribe --of 12 --relationship tags
              nestc subscribe --entity User --sort name --window 100..120
              nestc subscribe --entity User --sort name --around 90210:5,20
              nestc subscribe --entity User --sort name:ci --section 'firstCharacter(name)'
              nestc subscribe --entity User --sort company.name --properties name,company.name,phones.@count
              nestc subscribe --count 1 | jq .       the snapshot only
              nestc subscribe --apply-check          compare every state with the server's digest

            Events: snapshot, diff, progress, position, reset (a snapshot follows), disconnected, resumed, end. Index paths \
            are [section, row]; deleted rows and sections and move sources in the old state, everything else in the new one.
            A section's name is null when its rows have no value. On a terminal the rows of the last change are marked:
            + new, > moved, ~ another value.

            With --window, --limit or --around only those rows are followed, in a result of any size. Paths are those of the \
            rows shown; "total" and "sectionsTotal" are of the whole result, "first", "firstSection" and "firstInSection" \
            say where in it the first row is, and "anchor" which object is followed: when it leaves, the row in its place is. \
            A "position" event says that this has changed and the rows have not. On a terminal ↑ ↓ PgUp PgDn Home End move \
            the window, and the space bar pauses and goes on.
            Without --entity and --of: the top of the outline.
            """
    )

    @OptionGroup var request: RequestOptions

    @OptionGroup var window: WindowOptions

    @Flag(help: "Apply every diff, compare digest, total and now and then all values; exit 1 at the first difference.")
    var applyCheck = false

    @Option(help: ArgumentHelp("End after so many snapshots and diffs.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End when this revision is reached.", valueName: "revision"))
    var untilRevision: RevisionArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is 1 or more") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var resolved = try await self.request.resolve(client, isOutline: true)
        resolved.request.window = self.window.fetchWindow
        try await self.follow(resolved, client, &output)
    }

    private func follow(
        _ resolved: RequestOptions.Resolved,
        _ client: NestClient,
        _ output: inout Output
    ) async throws {
        let isLive = output.isTerminal && !self.global.json
        try await client.withFetchedResults(resolved.request, verifyDigest: self.applyCheck) { results in
            if isLive {
                let view = LiveView(resolved)
                try await view.follow(results, limit: self.limit)
            } else {
                try await OutputReader.closingWhenGone(client) {
                    try await self.printEvents(results, resolved, client, &output)
                }
            }
        }
    }

    private var limit: SubscriptionLimit {
        SubscriptionLimit(count: self.count, revision: self.untilRevision?.revision)
    }

    private func printEvents(
        _ results: ResultsSubscription,
        _ resolved: RequestOptions.Resolved,
        _ client: NestClient,
        _ output: inout Output
    ) async throws {
        var limit = self.limit
        var check = ValueCheck(client: client)
        let events = EventJSON(resolved)
        do {
            for try await change in results {
                try output.line(events.line(change, results))
                try output.flush()
                if self.applyCheck {
                    if case .reset(let reset) = change, reset.cause == .mismatch {
                        throw CommandFailure(.refused, "the state does not match: \(reset.message)")
                    }
                    try await check.examine(change, results)
                }
                if limit.isReached(change, results) { return }
            }
        } catch let error as NestError where error.code != .closed {
            try output.line(EventJSON.end(error))
            try output.flush()
            throw error
        }
    }
}

/// When a subscription has shown enough.
struct SubscriptionLimit {
    var count: Int?
    var revision: Revision?

    mutating func isReached(_ change: FetchedResultsChange, _ results: ResultsSubscription) -> Bool {
        let isState: Bool
        switch change {
        case .snapshot, .diff: isState = true
        case .progress, .position, .resumed, .reset, .disconnected, .paused: isState = false
        }
        if isState, let left = self.count {
            self.count = left - 1
            if left <= 1 { return true }
        }
        guard let revision else { return false }
        switch change {
        case .snapshot, .diff, .progress, .position, .resumed: return results.state.revision >= revision
        case .reset, .disconnected, .paused: return false
        }
    }
}
