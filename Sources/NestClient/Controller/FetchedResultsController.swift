import NestModel

/// What Core Data developers know as `NSFetchedResultsController`: the content of a fetch request in sections and rows, kept
/// up to date by the server, and a delegate that is told of every change of it in a form that views take.
///
///     let controller = FetchedResultsController(fetchRequest: request, client: client)
///     controller.delegate = self
///     try await controller.run()      // in a task that is cancelled when the screen goes
///
/// It belongs to the actor (or task) that made it: `run` stays there, and so do the delegate's calls. Between two
/// suspensions of that actor its content stands still.
public final class FetchedResultsController {
    /// How the content stands to the server's.
    public enum State: Hashable, Sendable {
        /// `run` was not called, or has ended. What was shown last is still shown.
        case idle
        /// The first content is awaited.
        case loading
        /// Every change is told as it comes.
        case live
        /// The content can no longer be brought up to date by changes; it will be replaced.
        case reloading(ResultsReset)
        /// The connection is lost and being made again; the content stays as it was.
        case disconnected(reason: String)
        /// `pause` was called: the content stays as it was until `resume`.
        case paused
    }

    /// What the content is to be of: the request that was asked for last.
    public private(set) var fetchRequest: ObjectFetchRequest
    public let client: NestClient
    public weak var delegate: (any FetchedResultsControllerDelegate)?
    public private(set) var state = State.idle

    /// The title of a section in the section index, by its key; `nil`: none. By default
    /// `FetchedResultsSectionInfo.indexTitle(for:)`.
    public var sectionIndexTitle: (AttributeValue) -> String? = FetchedResultsSectionInfo.indexTitle(for:)

    private let verifiesDigest: Bool
    private var isRunning = false
    /// Those whose state is shown; `nil` before the first content.
    private var results: ResultsSubscription?
    /// Those that `run` follows.
    private var followed: ResultsSubscription?
    private var pathIndex: PathIndex?

    /// `verifyDigest`: see `NestClient.withFetchedResults`.
    public init(fetchRequest: ObjectFetchRequest, client: NestClient, verifyDigest: Bool = false) {
        self.fetchRequest = fetchRequest
        self.client = client
        self.verifiesDigest = verifyDigest
    }

    /// Fetches the content and follows its changes. Ends by throwing: `CancellationError` in a cancelled task, `NestError`
    /// when the server ends the subscription or the client is closed. May be called again then; until the new content is
    /// there the old one is shown.
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
                if !events.isEmpty { self.tell(events, of: change) }
                if let change { self.note(change, results) }
            }
        }
    }

    // MARK: Asking for something else

    /// Makes the content that of another request. The delegate is told of the changes that lead there like of any others, or
    /// that the content is replaced. As `ResultsSubscription.change(to:)`; while `run` is not under way it is for the next.
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

    /// Shows other rows of the same result, or with `nil` all of them.
    @discardableResult
    public func setWindow(_ window: FetchWindow?) async throws(NestError) -> Bool {
        var request = self.fetchRequest
        request.window = window
        return try await self.change(to: request)
    }

    /// Where the window is in the whole result; `nil` when the request has none, and before the first content.
    public var window: WindowPosition? { self.results?.state.window }

    /// Follows nothing until `resume`, and keeps the content: for a screen that is not seen.
    public func pause() async { await self.followed?.pause() }

    /// Goes on from the content: the delegate is told what has changed meanwhile.
    public func resume() async { await self.followed?.resume() }

    // MARK: Telling

    private func tell(_ events: [FetchedResultsEvent], of change: FetchedResultsChange?) {
        // A diff that did not fit after all has changed nothing.
        if case .diff(let diff)? = change {
            self.pathIndex?.note(diff, events)
            if self.pathIndex?.isWornOut == true { self.pathIndex = nil }
            for event in events { self.tell(event) }
        }
        self.delegate?.controllerDidChangeContent(self)
    }

    private func tell(_ event: FetchedResultsEvent) {
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
        case .diff, .progress, .position: break
        case .paused: self.enter(.paused)
        case .snapshot(let reason):
            self.results = results
            self.pathIndex = nil
            self.delegate?.controllerDidReplaceContent(self, reason: reason)
            self.enter(.live)
        case .reset(let reset): self.enter(.reloading(reset))
        case .disconnected(let reason): self.enter(.disconnected(reason: reason))
        case .resumed: self.enter(.live)
        }
    }

    private func enter(_ state: State) {
        guard self.state != state else { return }
        self.state = state
        self.delegate?.controller(self, didChange: state)
    }

    // MARK: Content

    private static let nothing = SectionedSnapshot(revision: Revision(0), projection: [], sections: [])

    /// What is shown, with its revision and the properties that the rows' values are of. Empty, at revision 0, before the
    /// first content. Held over the next change, it is copied for it.
    public var content: SectionedSnapshot { self.results?.state ?? Self.nothing }

    /// O(1), and so is each section.
    public var sections: FetchedResultsSections {
        FetchedResultsSections(sections: self.content.sections, indexTitle: self.sectionIndexTitle)
    }

    /// All rows in order: O(1) for one section, O(n) for more. `nil` before the first content.
    public var fetchedObjects: [Row]? {
        guard let sections = self.results?.state.sections else { return nil }
        return sections.count == 1 ? sections[0].rows : sections.flatMap(\.rows)
    }

    /// The row at a path, which must be one of the content.
    public func object(at indexPath: RowPosition) -> Row { self.content[indexPath] }

    /// Where an object is; `nil` when it is not in the content.
    ///
    /// The first call takes O(n), and keeps about 50 bytes an object; later ones take O(1) and a little for each of the
    /// changes since. After 32 changes, or one that touches a quarter of the rows, the next call takes O(n) again.
    public func indexPath(forObject id: ObjectID) -> RowPosition? {
        if self.pathIndex == nil { self.pathIndex = PathIndex(self.content) }
        return self.pathIndex?.indexPath(of: id)
    }

    /// The titles of a section index: those of the sections in order, without sections that have none, and one for
    /// sections that follow each other and have the same. O(sections).
    public var sectionIndexTitles: [String] { self.indexedSections.map(\.title) }

    /// The first section that a title of `sectionIndexTitles` stands for: the `index`-th, or the first such title when that is
    /// another; `nil` when there is none. O(sections).
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
