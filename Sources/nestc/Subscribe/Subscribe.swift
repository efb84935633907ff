import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Subscribe: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow a list of objects as it changes.",
        discussion: """
            Examples:
              nestc subscribe                        browse a live list, until q
              nestc subscribe --parent 2 --json      item 2's children, as JSON events
              nestc subscribe --of 12 --relationship tags
              nestc subscribe --entity User --sort name --window 100..120
              nestc subscribe --entity User --sort name --around 90210:5,20
              nestc subscribe --entity User --sort name --section 'firstCharacter(name)'
              nestc subscribe --entity User --sort company.name \\
                  --properties name,company.name,phones.@count
              nestc subscribe --plain                a live list, without the screen
              nestc subscribe --count 1 | jq .       the snapshot only
              nestc subscribe --apply-check          compare every state with the server

            Without --entity and --of, nestc follows the top of the outline.

            On a terminal, nestc shows a part of the list as a table that fills the screen. The keys ↑ ↓ PgUp PgDn \
            Home End scroll, / finds a row by its text, p pauses, ? explains all keys, q quits. Marks show the rows of \
            the last change: + new, > moved, ~ another value. --window, --offset or --around specify where to start; \
            the row of --around, or a row that / has found, is marked * and followed wherever it moves.

            With --plain, or if TERM is unset or 'dumb', or if the terminal is smaller than 20 columns and 4 lines, \
            nestc prints the list as lines, and again after each change.

            Otherwise, and with --json, each line is one JSON event: snapshot, diff, progress, position, reset (a \
            snapshot follows), disconnected, resumed, end. Index paths are [section, row], from 0. Deleted rows, \
            deleted sections and the sources of moves refer to the old state, all others to the new state. A section's \
            name is null if its rows have no value.

            With --window, --limit or --around, the lines and events contain only these rows, in a result of any size. \
            Paths refer to the visible rows. "total" and "sectionsTotal" count the whole result; "first", \
            "firstSection" and "firstInSection" are the position of the first visible row in it, from 0. "anchor" is \
            the object that --around follows; if it leaves the result, the row that takes its position becomes the \
            anchor. A "position" event reports that these numbers have changed and the rows have not.

            With --authors, a diff has "authors": the revision, session and user of what it contains. Among them may be \
            a transaction that changed only other objects. On a terminal nestc then prints lines as with --plain, and the \
            authors below the list: r41 s2 Ann.
            """
    )

    @OptionGroup var request: RequestOptions

    @OptionGroup var window: WindowOptions

    @Flag(help: "Print lines instead of a screen, and after each change again.")
    var plain = false

    @Flag(help: "Apply each diff, compare digest, total and sometimes all values; exit with 1 at the first difference.")
    var applyCheck = false

    @Flag(help: "Show who made each change: the sessions and their users.")
    var authors = false

    @Option(help: ArgumentHelp("End after this many snapshots and diffs.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End when this revision is reached.", valueName: "revision"))
    var untilRevision: RevisionArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be 1 or more") }
        if self.plain, self.global.json { throw ValidationError("use --plain or --json, not both") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var resolved = try await self.request.resolve(client, isOutline: true)
        let isText = self.plain || output.isTerminal && !self.global.json
        if isText, !self.plain, !self.authors, TerminalScreen.isBrowsable {
            return try await self.browse(resolved, client)
        }
        resolved.request.window = self.window.fetchWindow
        if isText { resolved.request.window = PlainView.window(resolved.request.window, output) }
        try await client.withFetchedResults(resolved.request, verifyDigest: self.applyCheck) { results in
            try await OutputReader.closingWhenGone(client) {
                if isText {
                    var view = PlainView(resolved)
                    try await view.follow(results, limit: self.limit, &output)
                } else {
                    try await self.printEvents(results, resolved, client, &output)
                }
            }
        }
    }

    func configure(_ configuration: inout ClientConfiguration) { configuration.followsAuthors = self.authors }

    private func browse(_ resolved: RequestOptions.Resolved, _ client: NestClient) async throws {
        let text = ListText(resolved)
        let browser = ListBrowser(text, self.window.fetchWindow, TerminalScreen.size)
        var request = resolved.request
        request.window = browser.window(nil)
        try await client.withFetchedResults(request, verifyDigest: self.applyCheck) { results in
            try await LiveView(client, results, text, browser).follow(limit: self.limit)
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
        let events = EventJSON(resolved, showsAuthors: self.authors)
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
        case .snapshot: isState = true
        // A browser's own scrolling is no change.
        case .diff(let diff): isState = diff.from < diff.to
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
