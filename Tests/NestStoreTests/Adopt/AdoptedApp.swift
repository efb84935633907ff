import Foundation
import NestModel
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// An app's store as a file, and what becomes of it.
struct AdoptedApp {
    let directory = TemporaryDirectory(inMemory: true)
    let app: AppStore
    let version: AdoptedVersion
    var source: String { "\(self.directory.path)/App.sqlite" }
    var target: String { "\(self.directory.path)/nest.sqlite" }

    init(_ app: AppStore, keepsLog: Bool = false) throws {
        self.app = app
        self.version = AdoptedVersion(
            name: "App",
            isCurrent: true,
            model: try app.draft.compile(),
            externalData: app.externalData
        )
        try CoreDataFile.write(app, to: self.source, keepsLog: keepsLog)
    }

    /// Changes the file by SQL, as no app does.
    func change(_ sql: String...) throws {
        let file = try SQLiteFile(self.source)
        for sql in sql { try file.run(sql) }
        file.close()
    }

    @discardableResult
    func adopt(
        _ versions: [AdoptedVersion]? = nil,
        _ options: AdoptOptions = AdoptOptions(),
        progress: @escaping (CheckStep) -> Void = { _ in }
    ) throws -> AdoptReport {
        try Store.adopt(
            self.source,
            versions: versions ?? [self.version],
            into: self.target,
            options: options,
            newHistoryID: Identifier128(high: 7, low: 7),
            progress: progress
        )
    }

    /// The names, contents and times of the files of the source.
    func files() throws -> [String: [Int]] {
        var files: [String: [Int]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: self.directory.path) {
            guard !name.hasPrefix("nest.sqlite") else { continue }
            let path = "\(self.directory.path)/\(name)"
            var status = stat()
            stat(path, &status)
            let isFile = status.st_mode & S_IFMT == S_IFREG
            files[name] =
                [status.st_mtim.tv_sec, status.st_mtim.tv_nsec] + (isFile ? FileBytes.read(path).map(Int.init) : [])
        }
        return files
    }

    func open() throws -> Store {
        try Store(
            Store.Configuration(location: .file(self.target), model: self.version.model),
            newHistoryID: Identifier128(high: 8, low: 8)
        )
    }

    // MARK: Comparison

    /// Compares every object of the new store with the app's.
    func compare(_ report: AdoptReport) throws {
        let store = try self.open()
        defer { try? store.close() }
        try store.access { try self.compare(store, AdoptedIDs(self.app, report)) }
    }

    private func compare(_ store: Store, _ ids: AdoptedIDs) throws {
        for (key, object) in self.app.objects {
            let id = ids.id(key, object.entity)
            guard let (layout, row) = try store.object(id) else {
                Issue.record("the object \(id) (\(key)) is missing")
                continue
            }
            let kind = layout.kind(row.entity)
            #expect(kind.entity.name == object.entity)
            for attribute in kind.entity.attributes {
                let slot = layout.slot(of: attribute.number)!
                let expected = object.values[attribute.name] ?? .null
                #expect(row.values[slot] == expected, "\(object.entity).\(attribute.name) of \(key)")
            }
            for relationship in kind.entity.relationships where !relationship.isHiddenInverse {
                let links = (object.links[relationship.name] ?? []).map { ids.id($0, self.app.objects[$0]!.entity) }
                let found = try self.links(store, id, row, layout, relationship)
                #expect(found == links, "\(object.entity).\(relationship.name) of \(key)")
            }
        }
    }

    private func links(
        _ store: Store,
        _ id: ObjectID,
        _ row: ObjectRow,
        _ layout: EntityLayout,
        _ relationship: RelationshipDescription
    ) throws -> [ObjectID] {
        if let slot = layout.slot(of: relationship.number), !relationship.isToMany {
            return row.values[slot].referenceValue.map { [$0] } ?? []
        }
        if let toMany = layout.toMany(relationship.number) {
            return try store.objects.ids(referringTo: id, toMany.destination, toMany.inverseSlot)
        }
        let pairs = layout.manyToMany(relationship.number)!
        return try store.objects.ids(referringTo: id, pairs.join, pairs.ownerSlot).map { pair in
            try store.row(pairs.join, pair)!.values[pairs.targetSlot].referenceValue!
        }
    }
}

/// The object ids that a report gives to the app's objects.
private struct AdoptedIDs {
    private let offsets: [String: Int64]

    init(_ app: AppStore, _ report: AdoptReport) {
        self.offsets = Dictionary(uniqueKeysWithValues: report.entities.map { ($0.name, $0.idOffset) })
    }

    func id(_ key: AppStore.Key, _ entity: String) -> ObjectID { ObjectID(self.offsets[entity]! + key.number) }
}
