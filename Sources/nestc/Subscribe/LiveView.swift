import NestDocuments
import NestClient
import NestModel

/// A list that the user browses on the terminal's alternate screen while it changes.
///
/// `ListBrowser` decides what the screen shows; this type connects it with the subscription, the terminal and its
/// signals. Changes are applied as they arrive. If keys move the window faster than the server answers, only the newest
/// window is requested.
actor LiveView: ScreenUser {
    private let client: NestClient
    private let results: ResultsSubscription
    private let text: ListText
    private var browser: ListBrowser
    private let presence: Presence?
    private var screen = TerminalScreen()
    private let output = Output()
    /// The window that was requested last and is not answered.
    private var wanted: FetchWindow?
    /// The request of the visible state; `nil` before the first state.
    private var shownRequest: ObjectFetchRequest?
    /// The object that the server follows.
    private var anchor: ObjectID?
    private let (windows, windowSender) = AsyncStream.makeStream(
        of: FetchWindow.self,
        bufferingPolicy: .bufferingNewest(1)
    )
    private let pace = ScreenPace()
    private let (searches, searcher) = AsyncStream.makeStream(of: RowSearch.self, bufferingPolicy: .bufferingNewest(1))

    /// `browser` has requested the window of `results`. `presence`: `nil`, the user stays unseen and sees no others.
    init(
        _ client: NestClient,
        _ results: ResultsSubscription,
        _ text: ListText,
        _ browser: ListBrowser,
        _ presence: Presence?
    ) {
        self.client = client
        self.results = results
        self.text = text
        self.browser = browser
        self.presence = presence
    }

    /// Shows the results until the user quits, the limit is reached or the task is cancelled. Then restores the
    /// terminal.
    func follow(limit: SubscriptionLimit) async throws {
        self.browser.hasKeys = isatty(STDIN_FILENO) == 1
        try self.screen.enter()
        defer { self.screen.leave() }
        self.pace.drawSoon()
        try await ScreenLoop.run(
            self,
            self.pace,
            changes: { try await self.takeChanges(limit) },
            jobs: [
                { for await window in self.windows { await self.change(to: window) } },
                { for await search in self.searches { await self.run(search) } },
                { await self.presence?.forEach { await self.show($0) } },
            ]
        )
    }

    // MARK: Changes

    private func takeChanges(_ limit: SubscriptionLimit) async throws {
        var limit = limit
        for try await change in self.results {
            self.note(change)
            if limit.isReached(change, self.results.state.revision) { return }
        }
    }

    private func note(_ change: FetchedResultsChange) {
        let state = self.results.state
        let isAnswer = self.results.request != self.shownRequest
        switch change {
        case .snapshot: self.browser.note(snapshot: state, isAnswer: isAnswer)
        case .diff(let diff): self.browser.note(diff, state, isAnswer: isAnswer)
        case .position(let position):
            self.browser.note(position, state)
            // The rows are exact at the revision of the position too.
            if let revision = self.results.arrivedRevision { self.browser.note(revision) }
        case .progress(let revision), .resumed(let revision): self.browser.note(revision)
        case .totals: self.browser.note(totals: state)
        case .reset, .disconnected, .paused: break
        }
        switch change {
        case .snapshot, .diff: self.shownRequest = self.results.request
        default: break
        }
        if !isAnswer, let before = self.anchor, let anchor = state.window?.anchor, anchor != before {
            self.browser.note(anchor: anchor, insteadOf: before)
        }
        self.anchor = state.window?.anchor
        switch change {
        case .snapshot, .diff, .progress, .position, .totals, .resumed:
            self.browser.status = .live
        case .paused: self.browser.status = .paused
        case .reset: self.browser.status = .loading
        case .disconnected(let reason):
            self.browser.status = .reconnecting
            self.browser.say(reason)
        }
        if case .resumed = change { self.browser.say(nil) }
        self.requestWindow()
        self.drawSoon()
    }

    // MARK: Windows

    /// Requests the rows that the screen needs. Without a connection and during a pause, the next change does.
    private func requestWindow() {
        guard self.browser.status == .live else { return }
        let current = self.wanted ?? self.results.request.window?.following(self.results.state.window?.anchor)
        guard let window = self.browser.window(current) else { return }
        self.wanted = window
        self.windowSender.yield(window)
    }

    private func change(to window: FetchWindow) async {
        var isRefused = false
        do throws(NestError) {
            try await self.results.setWindow(window)
        } catch {
            if error.code == .notFound {
                self.browser.say("that row has left the list")
                self.browser.stopFollowing()
            } else {
                // A key or the next change requests it again.
                self.browser.say(error.message)
                isRefused = true
            }
        }
        if self.wanted == window { self.wanted = nil }
        if !isRefused { self.requestWindow() }
        self.drawSoon()
    }

    // MARK: Keys and signals

    /// Returns whether the view continues.
    func press(_ key: TerminalKey) async -> Bool {
        if key == .redraw { try? self.screen.enter() }
        let order = self.browser.press(key)
        switch order {
        case .quit: return false
        case .pause: await self.results.pause()
        case .resume: await self.results.resume()
        case .search: if let search = self.browser.search { self.searcher.yield(search) }
        case nil: break
        }
        self.requestWindow()
        self.drawSoon()
        return true
    }

    func take(_ signal: Int32) {
        self.screen.take(signal)
        self.browser.size = TerminalScreen.size
        self.requestWindow()
        self.drawSoon()
    }

    // MARK: Search

    private func run(_ search: RowSearch) async {
        do throws(NestError) {
            let hit = try await search.run(
                self.client,
                self.results.request,
                total: self.browser.total,
                cells: { self.text.printer($0).cells }
            ) { count, total in self.report(search, count, total) }
            // Another key has ended it.
            guard self.browser.search == search else { return }
            self.browser.found(hit)
        } catch {
            self.browser.say(error.message)
        }
        self.requestWindow()
        self.drawSoon()
    }

    /// Returns whether the search goes on.
    private func report(_ search: RowSearch, _ count: Int, _ total: Int) -> Bool {
        guard self.browser.search == search else { return false }
        self.browser.say(RowSearch.progress(count, of: total))
        self.drawSoon()
        return true
    }

    // MARK: Presence

    private func show(_ people: ShownPeople) {
        self.browser.people = people
        self.drawSoon()
    }

    // MARK: Drawing

    private func drawSoon() { self.pace.drawSoon() }

    func draw() throws {
        self.presence?.show(self.browser.place)
        try self.screen.draw(self.browser.frame(), self.output)
        self.browser.shown()
    }
}
