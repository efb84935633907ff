import NestClient
import NestDocuments
import NestModel

/// An outline that the user browses on the terminal's alternate screen while it changes.
///
/// `OutlineBrowser` decides what the screen shows; this type connects it with the subscription, the terminal and its
/// signals.
actor OutlineView: ScreenUser {
    private let client: NestClient
    private let outline: OutlineResults
    private let text: OutlineText
    private let path: OutlinePath?
    private var browser: OutlineBrowser
    private let presence: Presence?
    private var screen = TerminalScreen()
    private let output = Output()
    /// The window that was requested last and is not answered.
    private var wanted: FetchWindow?
    /// The orders and windows that the server has not answered.
    private var waitingCount = 0
    /// Whether the path of the outline is read or being read.
    private var hasPath = false
    /// The orders that were given. A window that was requested before the last one no longer matters.
    private var orderCount = 0
    /// Whether the reason for a lost connection is shown.
    private var isAway = false
    private let (windows, windowSender) = AsyncStream.makeStream(
        of: (window: FetchWindow, orderCount: Int).self,
        bufferingPolicy: .bufferingNewest(1)
    )
    /// The objects whose paths are read. The reads do not hold up the changes.
    private let (paths, pathSender) = AsyncStream.makeStream(of: ObjectID.self, bufferingPolicy: .bufferingNewest(1))
    private let (orders, orderSender) = AsyncStream.makeStream(of: OutlineBrowser.Order.self)
    private let (searches, searcher) = AsyncStream.makeStream(of: RowSearch.self, bufferingPolicy: .bufferingNewest(1))
    private let pace = ScreenPace()

    /// `browser` has requested the window of `outline`. `presence`: `nil`, the user stays unseen and sees no others.
    init(
        _ client: NestClient,
        _ outline: OutlineResults,
        _ resolved: RequestOptions.Resolved,
        _ browser: OutlineBrowser,
        _ presence: Presence?
    ) {
        self.client = client
        self.outline = outline
        self.text = OutlineText(resolved)
        self.path = OutlinePath(resolved)
        self.browser = browser
        self.presence = presence
    }

    /// Shows the outline until the user quits, the limit is reached or the task is cancelled. Then restores the
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
                { for await (window, count) in self.windows { await self.change(to: window, after: count) } },
                { for await source in self.paths { await self.readPath(source) } },
                { for await order in self.orders { await self.perform(order) } },
                { for await search in self.searches { await self.run(search) } },
                { await self.presence?.forEach { await self.show($0) } },
            ]
        )
    }

    // MARK: Changes

    private func takeChanges(_ limit: SubscriptionLimit) async throws {
        var limit = limit
        for try await change in self.outline {
            await self.note(change)
            if limit.isReached(change.event, change.state.revision, isAnswer: change.isAnswer) { return }
        }
    }

    private func note(_ change: OutlineChange) async {
        let source = self.outline.request.source?.object ?? self.browser.source
        let isFirst = !self.hasPath
        let isZoomed = source != self.browser.source
        self.browser.note(change, self.outline.snapshot, source: source)
        switch change.event {
        case .snapshot, .diff, .progress, .position, .totals, .resumed: self.browser.status = .live
        case .paused: self.browser.status = .paused
        case .reset: self.browser.status = .loading
        case .disconnected(let reason):
            self.browser.status = .reconnecting
            self.isAway = true
            self.browser.say(reason)
        }
        if self.isAway, self.browser.status == .live {
            self.isAway = false
            self.browser.say(nil)
        }
        if isFirst || isZoomed {
            self.hasPath = true
            self.pathSender.yield(source)
        }
        self.requestWindow()
        self.pace.drawSoon()
    }

    /// The path is read when the outline is below another object. Later titles are not followed.
    private func readPath(_ source: ObjectID) async {
        guard let path else { return }
        let titles: [String]
        do throws(NestError) {
            titles = try await path.titles(downTo: source, self.client)
        } catch {
            titles = ["…", "#\(source)"]
        }
        guard source == self.browser.source else { return }
        self.browser.path = titles
        self.pace.drawSoon()
    }

    // MARK: Windows

    /// Requests the rows that the screen needs. Without a connection and during a pause, the next change does.
    private func requestWindow() {
        guard self.browser.status == .live else { return }
        let current = self.wanted ?? self.outline.request.window?.following(self.outline.state.anchor)
        guard let window = self.browser.window(current) else { return }
        self.wanted = window
        self.windowSender.yield((window, self.orderCount))
    }

    private func change(to window: FetchWindow, after count: Int) async {
        guard count == self.orderCount else {
            if self.wanted == window { self.wanted = nil }
            return
        }
        let hint = self.hintLater()
        defer { self.endHint(hint) }
        do throws(NestError) {
            try await self.outline.scroll(to: window)
        } catch {
            if count == self.orderCount {
                self.browser.giveUpWindow(error.code == .notFound ? "that row is not shown any more" : error.message)
            }
        }
        if self.wanted == window { self.wanted = nil }
        self.pace.drawSoon()
    }

    // MARK: Hints

    /// How long an order may take before the screen says that it waits.
    private static let patience = Duration.milliseconds(300)

    /// Shows that the server has not answered, after a while. `endHint` ends it.
    private func hintLater() -> Task<Void, Never> {
        self.waitingCount += 1
        return Task {
            try? await Task.sleep(for: Self.patience)
            guard !Task.isCancelled, self.waitingCount > 0 else { return }
            self.browser.isWaiting = true
            self.pace.drawSoon()
        }
    }

    private func endHint(_ hint: Task<Void, Never>) {
        hint.cancel()
        self.waitingCount -= 1
        if self.waitingCount == 0 { self.browser.isWaiting = false }
    }

    // MARK: Keys and signals

    func press(_ key: TerminalKey) async -> Bool {
        if key == .redraw { try? self.screen.enter() }
        let order = self.browser.press(key)
        switch order {
        case .quit?: return false
        // Not behind orders that wait.
        case .pause?: await self.outline.pause()
        case .resume?: await self.outline.resume()
        case .search?: if let search = self.browser.search { self.searcher.yield(search) }
        case let order?:
            self.orderCount += 1
            self.orderSender.yield(order)
        case nil: break
        }
        self.requestWindow()
        self.pace.drawSoon()
        return true
    }

    private func perform(_ order: OutlineBrowser.Order) async {
        let hint = self.hintLater()
        defer { self.endHint(hint) }
        do throws(NestError) {
            switch order {
            case .setExpanded(let object, let isExpanded): try await self.outline.setExpanded(object, isExpanded)
            case .expand(let isExpanded, let cursor):
                let window = cursor.map { self.browser.firstWindow(around: $0) } ?? self.browser.firstWindow
                try await self.outline.change(window: window, outline: FetchOutline(isExpanded ? .all : .none))
            case .zoomIn(let object): try await self.outline.zoom(to: object, window: self.browser.firstWindow)
            case .zoomOut: try await self.zoomOut()
            case .parent(let object):
                if let parent = try await self.path?.parent(of: object, self.client) { self.browser.go(to: parent) }
            case .foldAll(let object):
                let top = try await self.rowAtTop(above: object)
                let window = top.map { self.browser.firstWindow(around: $0) } ?? self.browser.firstWindow
                if let top { self.browser.go(to: top) }
                try await self.outline.change(window: window, outline: FetchOutline(.none))
            case .quit, .search, .pause, .resume: break
            }
        } catch {
            self.browser.giveUp(error.message)
        }
        self.requestWindow()
        self.pace.drawSoon()
    }

    /// Returns the row at the top level that an object is below; `nil`: there is none in the levels that are read.
    private func rowAtTop(above object: ObjectID) async throws(NestError) -> ObjectID? {
        var row = object
        for _ in 0..<Self.levelsMax {
            guard let parent = try await self.path?.parent(of: row, self.client) else { return nil }
            if parent == self.browser.wantedSource { return row }
            row = parent
        }
        return nil
    }

    private static let levelsMax = 100

    private func zoomOut() async throws(NestError) {
        let source = self.browser.wantedSource
        guard let parent = try await self.path?.parent(of: source, self.client) else {
            return self.browser.say("this is the top")
        }
        self.browser.rise(from: source, to: parent)
        try await self.outline.zoom(to: parent, window: self.browser.firstWindow)
    }

    func take(_ signal: Int32) {
        self.screen.take(signal)
        self.browser.size = TerminalScreen.size
        self.requestWindow()
        self.pace.drawSoon()
    }

    // MARK: Search

    private func run(_ search: RowSearch) async {
        do {
            let hit = try await search.run(
                self.client,
                outline: await self.outline.currentRequest(),
                await self.outline.laterStates(),
                total: self.browser.total,
                cells: { self.text.printer($0).cells }
            ) { count, total in self.report(search, count, total) }
            // Another key has ended it.
            guard self.browser.search == search else { return }
            self.browser.found(hit)
        } catch {
            guard self.browser.search == search else { return }
            self.browser.giveUp((error as? NestError)?.message ?? "\(error)")
        }
        self.requestWindow()
        self.pace.drawSoon()
    }

    /// Returns whether the search goes on.
    private func report(_ search: RowSearch, _ count: Int, _ total: Int) -> Bool {
        guard self.browser.search == search else { return false }
        self.browser.say(RowSearch.progress(count, of: total))
        self.pace.drawSoon()
        return true
    }

    // MARK: Drawing

    private func show(_ people: ShownPeople) {
        self.browser.people = people
        self.pace.drawSoon()
    }

    func draw() throws {
        self.presence?.show(PresencePlace(object: self.browser.cursor))
        try self.screen.draw(self.browser.frame(), self.output)
        self.browser.shown()
    }
}
