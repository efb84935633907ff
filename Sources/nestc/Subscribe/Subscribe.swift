import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Subscribe: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow a list of objects as it changes.",
        discussion: """
            Examples:
              nestc subscribe                        a live list, until Ctrl-C
              nestc subscribe --parent 2 --json      item 2's children, as JSON events
              nestc subscribe --of 12 --relationship tags
              nestc subscribe --entity User --sort name --window 100..120
              nestc subscribe --entity User --sort name --around 90210:5,20
              nestc subscribe --entity User --sort name --section 'firstCharacter(name)'
              nestc subscribe --entity User --sort company.name \\
                  --properties name,company.name,phones.@count
              nestc subscribe --count 1 | jq .       the snapshot only
              nestc subscribe --apply-check          compare every state with the server

            Without --entity and --of, nestc follows the top of the outline. On a terminal, marks show the rows of the \
            last change: + new, > moved, ~ another value.

            Otherwise each line is one JSON event: snapshot, diff, progress, position, reset (a snapshot follows), \
            disconnected, resumed, end. Index paths are [section, row]. Deleted rows, deleted sections and the sources \
            of moves refer to the old state, all others to the new state. A section's name is null if its rows have no \
            value.

            With --window, --limit or --around, nestc follows only these rows, in a result of any size. Paths refer to \
            the visible rows. "total" and "sectionsTotal" count the whole result; "first", "firstSection" and \
            "firstInSection" are the position of the first visible row in it. "anchor" is the object that --around \
            follows; if it leaves the result, the row that takes its position becomes the anchor. A "position" event \
            reports that these numbers have changed and the rows have not. On a terminal, ↑ ↓ PgUp PgDn Home End move \
            the window, and the space bar pauses and resumes.
            """
    )

    @OptionGroup var request: RequestOptions

    @OptionGroup var window: WindowOptions

    @Flag(help: "Apply each diff, compare digest, total and sometimes all values; exit with 1 at the first difference.")
    var applyCheck = false

    @Option(help: ArgumentHelp("End after this many snapshots and diffs.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End when this revision is reached.", valueName: "revision"))
    var untilRevision: RevisionArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be 1 or more") }
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

/// The condition that ends a subscription.
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
