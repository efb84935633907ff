import NestClient
import NestModel
import NestTestSupport
import Testing

/// A screen with a list, isolated to the main actor. It records its controller's calls with the titles of the rows.
@MainActor final class ExampleScreen: @MainActor FetchedResultsControllerDelegate {
    private(set) var log: [String] = []
    private let request: NamedRequest
    private let title: String
    /// Sent after every change of the content.
    private let changes = ChangeSignal()

    /// `title`: the property that is a row's title.
    init(_ request: NamedRequest, title: String) {
        self.request = request
        self.title = title
    }

    /// Runs a controller until `body` returns. The controller has content when `body` begins.
    func run(
        _ client: NestClient,
        while body: @MainActor (FetchedResultsController) async throws -> Void
    ) async throws {
        let controller = FetchedResultsController(
            fetchRequest: self.request.request,
            client: client,
            verifyDigest: true
        )
        controller.delegate = self
        let running = Task {
            defer { self.changes.end() }
            try await controller.run()
        }
        defer { running.cancel() }
        try await self.wait { controller.fetchedObjects != nil }
        #expect(self.takeLog() == ["shown"])
        try await body(controller)
    }

    /// Waits until the content includes a write.
    func wait(for receipt: Receipt?, in controller: FetchedResultsController) async throws {
        try await self.wait(for: try #require(receipt).revision, in: controller)
    }

    /// Waits until the content is at `revision` or later.
    func wait(for revision: Revision, in controller: FetchedResultsController) async throws {
        try await self.wait { controller.content.revision >= revision }
    }

    /// Waits until the controller is in a state.
    func wait(for state: FetchedResultsController.State, of controller: FetchedResultsController) async throws {
        try await self.wait { controller.state == state }
    }

    func wait(until condition: () -> Bool) async throws {
        try await self.changes.wait(until: condition)
    }

    /// Returns and clears the recorded calls.
    func takeLog() -> [String] {
        defer { self.log = [] }
        return self.log
    }

    /// Returns the titles of the rows in order.
    func titles(_ controller: FetchedResultsController) -> [String] {
        (controller.fetchedObjects ?? []).map { self.request.named($0).text(self.title) }
    }

    // MARK: Calls

    func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason) {
        self.log.append("shown")
        self.changes.send()
    }

    func controller(
        _ controller: FetchedResultsController,
        didChange sectionInfo: FetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int,
        for type: FetchedResultsChangeType
    ) {
        self.log.append("\(type) section \(sectionIndex) \(sectionInfo.name)")
    }

    func controller(
        _ controller: FetchedResultsController,
        didChange object: Row,
        at indexPath: RowPosition?,
        for type: FetchedResultsChangeType,
        newIndexPath: RowPosition?
    ) {
        let paths = [indexPath, newIndexPath].compactMap { $0.map { "\($0)" } }.joined(separator: " to ")
        self.log.append("\(type) \(self.request.named(object).text(self.title)) \(paths)")
    }

    func controllerDidChangeContent(_ controller: FetchedResultsController) { self.changes.send() }

    func controller(_ controller: FetchedResultsController, didChange state: FetchedResultsController.State) {
        self.changes.send()
    }
}
