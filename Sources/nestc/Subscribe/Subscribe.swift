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
              nestc subscribe --entity Task --section day --totals 'count, sum(minutes)'
              nestc subscribe --outline              fold and unfold a live outline
              nestc subscribe --outline 2 --depth 2 --where 'done == NO'
              nestc subscribe --plain                a live list, without the screen
              nestc subscribe --count 1 | jq .       the snapshot only
              nestc subscribe --apply-check          compare every state with the server

            Without --entity and --of, nestc follows the top of the outline.

            On a terminal, nestc shows a part of the list as a table that fills the screen. The keys ↑ ↓ PgUp PgDn \
            Home End scroll, / finds a row by its text, p pauses, ? explains all keys, q quits. Marks show the rows of \
            the last change: + new, > moved, ~ another value. --window, --offset or --around specify where to start; \
            the row of --around, or a row that / has found, is marked * and followed wherever it moves.

            With --outline, the rows are those below an object (the top, or ID) in the order in which an outliner \
            shows them: below each unfolded row come its children. --depth or --expand says what is unfolded at the \
            start; --where hides what does not match, with everything below it. On a terminal → unfolds, ← folds or \
            goes to the parent, Space does either, Enter zooms into a row and u out of it, * and - unfold and fold all. \
            In JSON, rows have "depth", "children" and "expanded". At most 1,000 rows are sent; in lines and JSON these \
            are the first, unless a window is specified.

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

            With --totals, "totals" has the values over all rows, "sectionTotals" those of the sections that have changed: the \
            index of the section, and its values over all its rows, also over those outside the window. Both are part of \
            a snapshot or diff, or of a "totals" event if the rows stay the same. A screen shows them in the last line and \
            in the headings.

            With --authors, a diff has "authors": the revision, session and user of what it contains. Among them may be \
            a transaction that changed only other objects. On a terminal nestc then prints lines as with --plain, and the \
            authors below the list: r41 s2 Ann.

            On a terminal, the first line says who else is here, and ◂ marks the rows that they are on. They see where \
            you are: on the cursor's row of an outline, or on the followed row of a list. With --presence, lines have \
            'present: Ann at #3', and JSON has events "presence": the people, each with the object, the property and \
            the selection that it shows, or with other "bytes" in base64.
            """
    )

    @Argument(help: ArgumentHelp("The object that --outline is below. (default: the top)", valueName: "id"))
    var top: IDArgument?

    @OptionGroup var request: RequestOptions

    @OptionGroup var outline: OutlineOptions

    @OptionGroup var window: WindowOptions

    @Flag(help: "Print lines instead of a screen, and after each change again.")
    var plain = false

    @Flag(help: "Apply each diff, compare digest, total and sometimes all values; exit with 1 at the first difference.")
    var applyCheck = false

    @Flag(help: "Show who made each change: the sessions and their users.")
    var authors = false

    @OptionGroup var presence: PresenceOption

    @Option(help: ArgumentHelp("End after this many snapshots and diffs.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("End when this revision is reached.", valueName: "revision"))
    var untilRevision: RevisionArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be 1 or more") }
        if self.plain, self.global.json { throw ValidationError("use --plain or --json, not both") }
        if self.top != nil, !self.outline.outline {
            throw ValidationError("an id needs --outline; for a list, use --of ID")
        }
        guard self.outline.outline else { return }
        if self.top != nil, self.request.owner != nil { throw ValidationError("use --outline ID or --of ID, not both") }
        if self.request.entity != nil { throw ValidationError("an outline is below an object: use --outline ID") }
        if self.request.sort != nil || self.request.section != nil {
            throw ValidationError("an outline has the order of its relationship: leave out --sort and --section")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var request = self.request
        if let top { request.owner = top }
        var resolved = try await request.resolve(client, isOutline: true)
        if self.outline.outline { try await self.outline.apply(to: &resolved, client) }
        let isText = self.plain || output.isTerminal && !self.global.json
        if isText, !self.plain, !self.authors, TerminalScreen.isBrowsable {
            return try await self.browse(resolved, client)
        }
        resolved.request.window = self.window.fetchWindow
        if isText { resolved.request.window = PlainView.window(resolved.request.window, output) }
        if self.outline.outline, resolved.request.window == nil {
            resolved.request.window = .range(offset: 0, limit: Limits.outlineWindowRowsMax)
        }
        let presence = await self.presence.presence(resolved, client, isScreen: false)
        try await client.withFetchedResults(resolved.request, verifyDigest: self.applyCheck) { results in
            try await OutputReader.closingWhenGone(client) {
                try await PresencePrinter.print(presence, isJSON: !isText) {
                    if isText {
                        var view = PlainView(resolved)
                        try await view.follow(results, limit: self.limit, &output)
                    } else {
                        try await self.printEvents(results, resolved, client, &output)
                    }
                }
            }
        }
    }

    func configure(_ configuration: inout ClientConfiguration) { configuration.followsAuthors = self.authors }

    private func browse(_ resolved: RequestOptions.Resolved, _ client: NestClient) async throws {
        let presence = await self.presence.presence(resolved, client, isScreen: true)
        if let source = resolved.request.source, self.outline.outline {
            return try await OutlineScreen.show(
                resolved,
                below: source.object,
                at: self.window.fetchWindow,
                client,
                presence: presence,
                verifyDigest: self.applyCheck,
                limit: self.limit
            )
        }
        let text = ListText(resolved)
        let browser = ListBrowser(text, self.window.fetchWindow, TerminalScreen.size)
        var request = resolved.request
        request.window = browser.window(nil)
        try await client.withFetchedResults(request, verifyDigest: self.applyCheck) { results in
            try await LiveView(client, results, text, browser, presence).follow(limit: self.limit)
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
        try await EventJSON(resolved, showsAuthors: self.authors).print(results, &output) { change in
            if self.applyCheck {
                if case .reset(let reset) = change, reset.cause == .mismatch {
                    throw CommandFailure(.refused, "the state does not match: \(reset.message)")
                }
                try await check.examine(change, results)
            }
            return !limit.isReached(change, results.state.revision)
        }
    }
}

/// The condition that ends a subscription.
struct SubscriptionLimit {
    var count: Int?
    var revision: Revision?

    /// `reached`: the revision of the state after the change. `isAnswer`: the change is what the user asked for.
    mutating func isReached(_ change: FetchedResultsChange, _ reached: Revision, isAnswer: Bool = false) -> Bool {
        let isState: Bool
        switch change {
        case .snapshot: isState = true
        // A browser's own scrolling is no change.
        case .diff(let diff): isState = !isAnswer && diff.from < diff.to
        case .progress, .position, .totals, .resumed, .reset, .disconnected, .paused: isState = false
        }
        if isState, let left = self.count {
            self.count = left - 1
            if left <= 1 { return true }
        }
        guard let revision else { return false }
        switch change {
        case .snapshot, .diff, .progress, .position, .totals, .resumed: return reached >= revision
        case .reset, .disconnected, .paused: return false
        }
    }
}
