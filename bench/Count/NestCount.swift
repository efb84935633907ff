import ArgumentParser
import BenchEngine
import Foundation
import NestModel

/// Repeats one kind of engine work and does nothing else, for tools that count instructions.
///
/// The difference between the counts of a long and a short run is the cost of the work alone. Other load on the machine
/// does not change it.
@main
struct NestCount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestcount",
        abstract: "Repeat one kind of engine work, for tools that count instructions.",
        discussion: """
            Examples:
              nestcount commit 1000
              valgrind --tool=callgrind nestcount commit-64 100
            """
    )

    enum Work: String, CaseIterable, ExpressibleByArgument {
        case commit
        case commit64 = "commit-64"
        case fanout
        case fanout64 = "fanout-64"
        case writer64 = "writer-64"
        case optimistic64 = "optimistic-64"
        case update
        case updateTotals = "update-totals"
        case insert
        case delete
        case tree
        case deleteTree = "delete-tree"
        case get64 = "get-64"
        case outline
    }

    @Argument(
        help: """
            The work: a commit of 1 or 64 rows, a commit with 1,000 subscribers or of 64 rows with one, 64 rows \
            whose writer has the list, the same with a writer that shows its writes at once, a change of \
            a sorted result, the same with five totals, a flat tree in transactions of 1,000 rows, its deletion in \
            one transaction, 64 objects requested together, or a commit at the head of 1,000 rows that 100 outlines \
            show.
            """
    )
    var work: Work

    @Argument(help: "The number of commits or batches, or of rows in the tree.")
    var count: Int

    @Option(help: "Rows in the sorted result.")
    var rows = 10_000

    private static let root = ObjectID(1)

    func run() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "nestcount-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "store.sqlite").path
        switch self.work {
        case .commit: try self.insert(1, path, subscribers: 0)
        case .commit64: try self.insert(64, path, subscribers: 0)
        case .fanout: try self.insert(1, path, subscribers: 1_000)
        case .fanout64: try self.insert(64, path, subscribers: 1)
        case .writer64: try self.insertOwn(path, isOptimistic: false)
        case .optimistic64: try self.insertOwn(path, isOptimistic: true)
        case .update: try self.change(.update, path)
        case .updateTotals: try self.change(.update, path, hasTotals: true)
        case .insert: try self.change(.insert, path)
        case .delete: try self.change(.delete, path)
        case .tree: try self.tree(path, isDeleted: false)
        case .deleteTree: try self.tree(path, isDeleted: true)
        case .get64: try self.get(path)
        case .outline: try self.outline(path)
        }
    }

    private static let list = ObjectFetchRequest(
        entity: EntityNumber(1),
        source: FetchSource(object: root, relationship: PropertyNumber(6))
    )

    /// A writer that has the list itself.
    private func insertOwn(_ path: String, isOptimistic: Bool) throws {
        let subject = try EngineSubject(.nestedList, path: path, namesOwnRequests: isOptimistic)
        try subject.subscribe(Self.list)
        try subject.commit([Mutation](repeating: Self.insert(under: Self.root), count: 64), times: self.count)
        try subject.close()
    }

    private func insert(_ perCommit: Int, _ path: String, subscribers: Int) throws {
        let subject = try EngineSubject(.nestedList, path: path)
        for _ in 0..<subscribers { try subject.subscribe(Self.list, on: subject.connect(1)) }
        let group = [Mutation](repeating: Self.insert(under: Self.root), count: perCommit)
        try subject.commit(group, times: self.count)
        try subject.close()
    }

    private func outline(_ path: String) throws {
        let subject = try EngineSubject(.nestedList, path: path)
        try subject.write([[Mutation](repeating: Self.insert(under: Self.root), count: 1_000)])
        for number in 0..<100 {
            let request = ObjectFetchRequest(
                entity: EntityNumber(1),
                source: FetchSource(object: Self.root, relationship: PropertyNumber(6)),
                projection: [PropertyNumber(1), .outlineChildren, .outlineDepth],
                window: .range(offset: number, limit: 20),
                outline: FetchOutline(.all)
            )
            try subject.subscribe(request, on: subject.connect(1))
        }
        try subject.commit([Self.insert(under: Self.root, .first)], times: self.count)
        try subject.close()
    }

    private static func insert(under owner: ObjectID, _ place: Place = .last) -> Mutation {
        .insert(
            entity: EntityNumber(1),
            values: [PropertyAssignment(PropertyNumber(1), .value(.string("Milk, two litres, and bread")))],
            placements: [Placement(relationship: PropertyNumber(5), owner: .object(owner), place: place)]
        )
    }

    private func tree(_ path: String, isDeleted: Bool) throws {
        // The deletion runs as one piece, so that its rows are removed before the end.
        let subject = try EngineSubject(.nestedList, path: path, preparedObjectsMin: .max)
        let top = try subject.write([[Self.insert(under: Self.root)]]).inserted[0]
        for start in stride(from: 0, to: self.count, by: 1_000) {
            let rows = min(1_000, self.count - start)
            try subject.write([[Mutation](repeating: Self.insert(under: top), count: rows)])
        }
        if isDeleted { try subject.write([[.delete(.object(top))]]) }
        try subject.close()
    }

    private func get(_ path: String) throws {
        let subject = try EngineSubject(.nestedList, path: path)
        let group = [Mutation](repeating: Self.insert(under: Self.root), count: 1_000)
        let objects = try subject.write([group]).inserted
        try subject.get(Array(objects.prefix(64)), times: self.count)
        try subject.close()
    }

    private func change(_ change: Table.Change, _ path: String, hasTotals: Bool = false) throws {
        let subject = try EngineSubject(TableModel.model, path: path)
        var table = Table()
        try table.fill(subject, self.rows)
        var list = TableModel.all(by: .integer)
        if hasTotals {
            let number = PropertyPath(leaf: .attribute(TableModel.number))
            list.totals = [.count] + AggregateFunction.allCases.map { .function($0, number) }
        }
        _ = try subject.subscribe(list, on: subject.connect(1))
        _ = try table.time(change, self.count, by: .integer, subject) { 0 }
        try subject.close()
    }
}
