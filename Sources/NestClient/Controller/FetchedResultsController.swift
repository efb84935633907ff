import NestModel

/// The content of a fetch request in sections and rows, like `NSFetchedResultsController` of Core Data. The server
/// keeps the content up to date, and a delegate receives every change in the form that views need.
///
///     let controller = FetchedResultsController(fetchRequest: request, client: client)
///     controller.delegate = self
///     try await controller.run()      // in a task that is cancelled when the screen disappears
///
/// A controller belongs to the actor or task that created it: `run` and the delegate's methods run there. The content
/// does not change between two suspensions of that actor.
public final class FetchedResultsController {
    /// Whether the content is up to date.
    public enum State: Hashable, Sendable {
        /// `run` was not called, or has ended. The last content stays.
        case idle
        /// The first content has not arrived yet.
        case loading
        /// The content is that of the last run, from a cache. The server has not confirmed it.
        case cached
        /// The delegate receives every change as it arrives.
        case live
        /// Changes can no longer update the content. It will be replaced.
        case reloading(ResultsReset)
        /// The connection is lost, and the client reconnects. The content stays.
        case disconnected(reason: String)
        /// `pause` was called. The content stays until `resume`.
        case paused
    }

    /// The newest request: the initial one, or that of the last `change(to:)`.
    public private(set) var fetchRequest: ObjectFetchRequest
    public let client: NestClient
    public weak var delegate: (any FetchedResultsControllerDelegate)?
    public private(set) var state = State.idle

    /// Returns the title of a section in the section index, by the section's key; `nil`: no title. By default
    /// `FetchedResultsSectionInfo.indexTitle(for:)`.
    public var sectionIndexTitle: (AttributeValue) -> String? = FetchedResultsSectionInfo.indexTitle(for:)

    private let verifiesDigest: Bool
    private var isRunning = false
    /// The results whose state is shown; `nil` before the first content.
    private var results: ResultsSubscription?
    /// The results that `run` follows.
    private var followed: ResultsSubscription?
    private var pathIndex: PathIndex?

    /// `verifyDigest`: see `NestClient.withFetchedResults`.
    public init(fetchRequest: ObjectFetchRequest, client: NestClient, verifyDigest: Bool = false) {
        self.fetchRequest = fetchRequest
        self.client = client
        self.verifiesDigest = verifyDigest
    }

    /// A controller of a request that is written by name: `request.named(row)` has its rows' values by name.
    public convenience init(fetchRequest: NamedRequest, client: NestClient, verifyDigest: Bool = false) {
        self.init(fetchRequest: fetchRequest.request, client: client, verifyDigest: verifyDigest)
    }

    /// Fetches the content and follows its changes. Ends by throwing: `CancellationError` in a cancelled task,
    /// `NestError` if the server ends the subscription or the client is closed. It may be called again then. The old
    /// content stays until the new content arrives.
    public func run() async throws {
        precondition(!self.isRunning, "a fetched results controller is run once at a time")
        self.isRunning = true
        defer {
            self.isRunning = false
            self.followed = nil
            self.enter(.idle)
        }
        self.enter(.loading)
        try await self.client.withFetchedResults(self.fetchRequest, verifyDigest: self.verifiesDigest) { results in
            self.followed = results
            while true {
                let events = try await results.queue.upcoming()
                if !events.isEmpty { self.delegate?.controllerWillChangeContent(self) }
                let change = results.queue.advance()
                if !events.isEmpty { self.notify(events, of: change) }
                if let change { self.note(change, results) }
            }
        }
    }

    // MARK: Other requests

    /// Changes the request of the content. The delegate receives the changes from the old content to the new one, or is
    /// notified that the content was replaced. See `ResultsSubscription.change(to:)`. If `run` is not active, the
    /// request applies to the next run.
    @discardableResult
    public func change(to request: ObjectFetchRequest) async throws(NestError) -> Bool {
        let before = self.fetchRequest
        self.fetchRequest = request
        guard let followed = self.followed else { return true }
        do throws(NestError) {
            return try await followed.change(to: request)
        } catch {
            if self.fetchRequest == request { self.fetchRequest = before }
            throw error
        }
    }

    /// Shows other rows of the same result, or all rows if `window` is `nil`.
    @discardableResult
    public func setWindow(_ window: FetchWindow?) async throws(NestError) -> Bool {
        var request = self.fetchRequest
        if let shown = self.followed?.request {
            // All properties are those that the rows have, even if the server's model has more by now.
            var same = shown
            same.projection = request.projection
            same.window = request.window
            if same == request { request.projection = shown.projection }
        }
        request.window = window
        return try await self.change(to: request)
    }

    /// The position of the window in the whole result. `nil` if the request has no window, and before the first
    /// content.
    public var window: WindowPosition? { self.results?.state.window }

    /// Stops following and keeps the content until `resume`, for a screen that is not visible.
    public func pause() async { await self.followed?.pause() }

    /// Continues from the content. The delegate receives what has changed in the meantime.
    public func resume() async { await self.followed?.resume() }

    // MARK: Notifying the delegate

    private func notify(_ events: [FetchedResultsEvent], of change: FetchedResultsChange?) {
        // If the diff turned out not to fit, nothing has changed.
        if case .diff(let diff)? = change {
            self.pathIndex?.note(diff, events)
            if self.pathIndex?.needsRebuild == true { self.pathIndex = nil }
            for event in events { self.notify(event) }
        }
        self.delegate?.controllerDidChangeContent(self)
    }

    private func notify(_ event: FetchedResultsEvent) {
        guard let delegate = self.delegate else { return }
        switch event {
        case .willChangeContent, .didChangeContent: break
        case .deleteSection(let section, let index):
            delegate.controller(self, didChange: self.titled(section), atSectionIndex: index, for: .delete)
        case .insertSection(let section, let index):
            delegate.controller(self, didChange: self.titled(section), atSectionIndex: index, for: .insert)
        case .delete(let row, let path):
            delegate.controller(self, didChange: row, at: path, for: .delete, newIndexPath: nil)
        case .insert(let row, let path):
            delegate.controller(self, didChange: row, at: nil, for: .insert, newIndexPath: path)
        case .move(let row, let path, let newPath):
            delegate.controller(self, didChange: row, at: path, for: .move, newIndexPath: newPath)
        case .update(let row, let path, let newPath):
            delegate.controller(self, didChange: row, at: path, for: .update, newIndexPath: newPath)
        }
    }

    private func titled(_ section: FetchedResultsSectionInfo) -> FetchedResultsSectionInfo {
        var section = section
        section.indexTitle = self.sectionIndexTitle(section.key)
        return section
    }

    private func note(_ change: FetchedResultsChange, _ results: ResultsSubscription) {
        switch change {
        case .diff, .progress, .position, .totals:
            if self.state == .cached, !results.queue.isFromCache { self.enter(.live) }
        case .paused: self.enter(.paused)
        case .snapshot(let reason):
            self.results = results
            self.pathIndex = nil
            self.delegate?.controllerDidReplaceContent(self, reason: reason)
            self.enter(results.queue.isFromCache ? .cached : .live)
        case .reset(let reset): self.enter(.reloading(reset))
        case .disconnected(let reason): self.enter(.disconnected(reason: reason))
        case .resumed: self.enter(results.queue.isFromCache ? .cached : .live)
        }
    }

    private func enter(_ state: State) {
        guard self.state != state else { return }
        self.state = state
        self.delegate?.controller(self, didChange: state)
    }

    // MARK: Content

    private static let nothing = SectionedSnapshot(revision: Revision(0), projection: [], sections: [])

    /// The visible content, with its revision and the properties of its rows. Empty and at revision 0 before the first
    /// content. If a copy is kept across the next change, that change copies the rows.
    public var content: SectionedSnapshot { self.results?.state ?? Self.nothing }

    /// The sections of the content. Takes O(1), and so does access to a section.
    public var sections: FetchedResultsSections {
        FetchedResultsSections(sections: self.content.sections, indexTitle: self.sectionIndexTitle)
    }

    /// All rows in order: O(1) for one section, O(n) for more. `nil` before the first content.
    public var fetchedObjects: [Row]? {
        guard let sections = self.results?.state.sections else { return nil }
        return sections.count == 1 ? sections[0].rows : sections.flatMap(\.rows)
    }

    /// Returns the row at a path, which must be in the content.
    public func object(at indexPath: RowPosition) -> Row { self.content[indexPath] }

    /// Returns the path of an object, or `nil` if the object is not in the content.
    ///
    /// The first call takes O(n) and allocates about 50 bytes an object. Later calls take O(1) and a little more for
    /// each change since. After 32 changes, or after changes of a quarter of the rows, the next call takes O(n) again.
    public func indexPath(forObject id: ObjectID) -> RowPosition? {
        if self.pathIndex == nil { self.pathIndex = PathIndex(self.content) }
        return self.pathIndex?.indexPath(of: id)
    }

    /// The titles of a section index: the sections' titles in order. Sections without a title are left out, and
    /// consecutive sections with the same title share one. O(sections).
    public var sectionIndexTitles: [String] { self.indexedSections.map(\.title) }

    /// Returns the first section that belongs to a title of `sectionIndexTitles`: to the title at `index`, or to the
    /// first equal title if that one differs. Returns `nil` if there is none. O(sections).
    public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
        let indexed = self.indexedSections
        if indexed.indices.contains(index), indexed[index].title == title { return indexed[index].section }
        return indexed.first { $0.title == title }?.section
    }

    private var indexedSections: [(title: String, section: Int)] {
        var indexed: [(title: String, section: Int)] = []
        for (index, section) in self.content.sections.enumerated() {
            guard let title = self.sectionIndexTitle(section.key), indexed.last?.title != title else { continue }
            indexed.append((title, index))
        }
        return indexed
    }
}
