import NestClient
import NestModel
import NestTestSupport
import Testing

/// An application's screen, isolated to the main actor. It applies its controller's calls to a table and records every
/// call.
@MainActor final class TableScreen: @MainActor FetchedResultsControllerDelegate {
    private(set) var log: [String] = []
    private(set) var table = TableModel([])
    private var events: [FetchedResultsEvent] = []
    /// Sent after every call that ends a change.
    private let changes = ChangeSignal()

    /// Runs a controller until `body` has ended.
    func run(
        _ controller: FetchedResultsController,
        while body: @MainActor () async throws -> Void
    ) async throws {
        controller.delegate = self
        let running = Task {
            defer { self.changes.end() }
            try await controller.run()
        }
        do {
            try await body()
        } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(controller.state == .idle)
    }

    /// Waits until a condition holds after some call; fails if the controller ends before.
    func wait(until condition: () -> Bool) async throws {
        try await self.changes.wait(until: condition)
    }

    /// Returns and clears the recorded calls.
    func takeLog() -> [String] {
        defer { self.log = [] }
        return self.log
    }

    private func note(_ text: String) {
        self.log.append(text)
        self.changes.send()
    }

    // MARK: Calls

    func controllerWillChangeContent(_ controller: FetchedResultsController) {
        self.events = [.willChangeContent]
        // A view that reads the controller now must get the old content.
        #expect(self.table.sections == controller.sections.map(\.objects))
    }

    func controller(
        _ controller: FetchedResultsController,
        didChange sectionInfo: FetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int,
        for type: FetchedResultsChangeType
    ) {
        self.log.append("\(type) section \(sectionIndex) \(sectionInfo.name)")
        if type == .delete {
            self.events.append(.deleteSection(sectionInfo, at: sectionIndex))
        } else {
            #expect(controller.sections[sectionIndex] == sectionInfo)
            self.events.append(.insertSection(sectionInfo, newIndex: sectionIndex))
        }
    }

    func controller(
        _ controller: FetchedResultsController,
        didChange object: Row,
        at indexPath: RowPosition?,
        for type: FetchedResultsChangeType,
        newIndexPath: RowPosition?
    ) {
        let paths = [indexPath, newIndexPath].compactMap { $0.map { "\($0)" } }.joined(separator: " to ")
        self.log.append("\(type) \(object.id) \(paths)")
        if let newIndexPath {
            #expect(controller.object(at: newIndexPath) == object)
            #expect(controller.indexPath(forObject: object.id) == newIndexPath)
        } else {
            #expect(controller.indexPath(forObject: object.id) == nil)
        }
        switch (type, indexPath, newIndexPath) {
        case (.insert, nil, let new?): self.events.append(.insert(object, newIndexPath: new))
        case (.delete, let old?, nil): self.events.append(.delete(object, at: old))
        case (.move, let old?, let new?): self.events.append(.move(object, at: old, newIndexPath: new))
        case (.update, let old?, let new?): self.events.append(.update(object, at: old, newIndexPath: new))
        default: Issue.record("\(type) with the wrong index paths")
        }
    }

    func controllerDidChangeContent(_ controller: FetchedResultsController) {
        do {
            let sections = controller.content.sections
            try self.table.perform(BatchUpdates(self.events), dataSource: sections)
            #expect(self.table.sections == sections.map(\.rows))
        } catch {
            Issue.record("the table refuses: \(error)")
        }
        self.note("did change")
    }

    func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason) {
        self.table = TableModel(controller.content.sections)
        self.note("replaced: \(reason)")
    }

    func controller(_ controller: FetchedResultsController, didChange state: FetchedResultsController.State) {
        switch state {
        case .reloading(let reset): self.note("reloading: \(reset.cause)")
        case .disconnected: self.note("disconnected")
        default: self.note("\(state)")
        }
    }
}
