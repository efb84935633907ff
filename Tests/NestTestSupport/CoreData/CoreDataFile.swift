import NestModel

#if canImport(Glibc)
import Glibc
#endif

/// Writes an SQLite file as Core Data lays it out. Its rules are written apart from those of `nestd adopt`.
package struct CoreDataFile {
    private let store: AppStore
    private let database: SQLiteFile
    private let directory: String
    private let name: String
    /// By entity: `Z_ENT`. Core Data counts from 1, depth first, by name.
    private var numbers: [String: Int64] = [:]
    private var columns = AppColumns()

    /// Writes the store at a path. `keepsLog`: its last transaction is only in a write-ahead log beside it.
    package static func write(_ store: AppStore, to path: String, keepsLog: Bool = false) throws {
        let made = keepsLog ? "\(path).open" : path
        let file = try CoreDataFile(store, made, supporting: path)
        try file.database.run("PRAGMA journal_mode = \(keepsLog ? "WAL" : "DELETE")")
        try file.database.run("PRAGMA wal_autocheckpoint = 0")
        try file.database.run("BEGIN")
        try file.writeTables()
        try file.writeObjects()
        try file.writePairs()
        try file.database.run("COMMIT")
        if keepsLog {
            for ending in ["", "-wal"] { FileBytes.write(FileBytes.read(made + ending), to: path + ending) }
        }
        file.database.close()
        if keepsLog { for ending in ["", "-wal", "-shm"] { unlink(made + ending) } }
    }

    private init(_ store: AppStore, _ path: String, supporting: String) throws {
        self.store = store
        self.database = try SQLiteFile(path)
        let parts = supporting.split(separator: "/")
        self.directory = "/" + parts.dropLast().joined(separator: "/")
        self.name = String(parts.last!.split(separator: ".").first!)
        func number(_ parent: String?) {
            for name in store.draft.entities.filter({ $0.parent == parent }).map(\.name).sorted() {
                self.numbers[name] = Int64(self.numbers.count + 1)
                number(name)
            }
        }
        number(nil)
        self.columns = AppColumns(store, self.numbers)
    }

    // MARK: Tables

    private func writeTables() throws {
        try self.database.run(
            "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"
        )
        try self.database.run("INSERT INTO Z_METADATA VALUES (1, 'F00D', x'00')")
        try self.database.run("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
        try self.database.run(
            "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"
        )
        for (name, number) in self.numbers {
            let parent = self.store.entity(name).parent.map { self.numbers[$0]! } ?? 0
            let greatest = self.store.keys(self.store.table(name)).last?.number ?? 0
            try self.database.run("INSERT INTO Z_PRIMARYKEY VALUES (\(number), '\(name)', \(parent), \(greatest))")
        }
        try self.database.run("INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 0)")
        for table in self.tables {
            let list = self.columns.of(table).map { "\"\($0.name)\" \($0.type)" }
            let all = ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"] + list
            try self.database.run("CREATE TABLE Z\(table.uppercased()) (\(all.joined(separator: ", ")))")
        }
    }

    private var tables: [String] { self.store.draft.entities.filter { $0.parent == nil }.map(\.name).sorted() }

    private func sub(_ entity: String) -> Bool { self.store.draft.entities.contains { $0.parent == entity } }

    // MARK: Objects

    private func writeObjects() throws {
        for (key, object) in self.store.objects.sorted(by: { $0.key < $1.key }) {
            var values: [(String, AttributeValue)] = [
                ("Z_PK", .integer(key.number)), ("Z_ENT", .integer(self.numbers[object.entity]!)),
                ("Z_OPT", .integer(1)),
            ]
            for (owner, attribute) in self.store.attributes(object.entity) {
                guard let value = object.values[attribute.name] else { continue }
                let isExternal = self.store.externalData.contains("\(owner).\(attribute.name)")
                let column = self.columns.name("\(owner).\(attribute.name)")
                values.append(("Z\(column)", isExternal ? self.external(value, key) : Self.stored(value)))
            }
            for owner in self.store.lineage(object.entity) {
                for relationship in self.store.entity(owner).relationships where !relationship.isToMany {
                    values += self.reference(key, object, owner, relationship)
                }
            }
            values += self.oneWayReferences(key)
            let columns = values.map { "\"\($0.0)\"" }.joined(separator: ", ")
            let places = values.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
            try self.database.run(
                "INSERT INTO Z\(key.table.uppercased()) (\(columns)) VALUES (\(places))",
                values.map(\.1)
            )
        }
    }

    private func reference(
        _ key: AppStore.Key,
        _ object: AppStore.Object,
        _ owner: String,
        _ relationship: RelationshipDraft
    ) -> [(String, AttributeValue)] {
        let column = self.columns.name("\(owner).\(relationship.name)")
        let gone = self.store.dangling.first { $0.from == key && $0.relationship == "\(owner).\(relationship.name)" }
        if let gone { return [("Z\(column)", .integer(gone.to))] }
        guard let target = object.links[relationship.name]?.first else { return [] }
        var values: [(String, AttributeValue)] = [("Z\(column)", .integer(target.number))]
        if self.sub(relationship.destination) {
            let number = self.numbers[self.store.objects[target]!.entity]!
            values.append(("Z\(self.numbers[relationship.destination]!)_\(column)", .integer(number)))
        }
        let back =
            relationship.inverse.isEmpty
            ? nil : self.store.relationship(relationship.inverse, relationship.destination)
        if let back, back.isOrdered {
            let place = self.store.objects[target]!.links[back.name]!.firstIndex(of: key)!
            values.append(("Z_FOK_\(column)", .integer(Int64(place) * 1_024)))
        }
        return values
    }

    /// The columns of one-way to-many relationships that lead to an object.
    private func oneWayReferences(_ key: AppStore.Key) -> [(String, AttributeValue)] {
        var values: [(String, AttributeValue)] = []
        for (path, form) in self.store.oneWayForms where form == .column {
            let (owner, name) = AppColumns.parts(path)
            for source in self.store.keys(owner) {
                guard let place = self.store.objects[source]!.links[name]?.firstIndex(of: key) else { continue }
                let column = "\(self.numbers[owner]!)\(name.uppercased())"
                values.append(("Z\(column)", .integer(source.number)))
                if self.store.relationship(name, owner)!.isOrdered {
                    values.append(("Z_FOK_\(column)", .integer(Int64(place) * 1_024)))
                }
            }
        }
        return values
    }

    private func external(_ value: AttributeValue, _ key: AppStore.Key) -> AttributeValue {
        guard case .data(let bytes) = value else { return value }
        guard bytes.count > 5 else { return .data([1] + bytes) }
        let support = "\(self.directory)/.\(self.name)_SUPPORT"
        let file = "\(key.table)-\(key.number)-\(bytes.count)-\(bytes.reduce(7) { ($0 &* 31) &+ Int($1) })"
        for path in [support, "\(support)/_EXTERNAL_DATA"] { mkdir(path, 0o700) }
        FileBytes.write(bytes, to: "\(support)/_EXTERNAL_DATA/\(file)")
        return .data([2] + Array(file.utf8) + [0])
    }

    private static func stored(_ value: AttributeValue) -> AttributeValue {
        guard case .date(let time) = value else { return value }
        // Whole eighths of a second, which a double holds exactly.
        return .double(Double(time / 125_000) / 8 - 978_307_200)
    }

    // MARK: Pairs

    private func writePairs() throws {
        for (owner, there, back) in self.store.pairs {
            if there.isToMany, let back, back.isToMany { try self.writePairs(owner, there, back) }
            if there.isToMany, back == nil, self.store.oneWayForms["\(owner).\(there.name)"] == .table {
                try self.writeOneWay(owner, there)
            }
            if there.isToMany, back == nil, self.store.oneWayForms["\(owner).\(there.name)"] == nil {
                // There is no object, so the form does not matter.
                try self.writeOneWay(owner, there)
            }
        }
    }

    private func writePairs(_ owner: String, _ there: RelationshipDraft, _ back: RelationshipDraft) throws {
        let number = self.numbers[owner]!
        let name = "Z_\(number)\(there.name.uppercased())"
        let isSymmetric = owner == there.destination && there.name == back.name
        var one = "Z_\(number)\(back.name.uppercased())"
        let other =
            isSymmetric ? "REFLEXIVE" : "Z_\(self.numbers[there.destination]!)\(there.name.uppercased())"
        // Core Data adds a number to some names.
        if !isSymmetric, there.name.count % 2 == 0 { one += "1" }
        var columns = ["\(one) INTEGER", "\(other) INTEGER"]
        if there.isOrdered { columns.append("Z_FOK_\(other.dropFirst(2)) INTEGER") }
        if back.isOrdered { columns.append("Z_FOK_\(one.dropFirst(2)) INTEGER") }
        try self.database.run(
            "CREATE TABLE \(name) (\(columns.joined(separator: ", ")), PRIMARY KEY (\(one), \(other)))"
        )
        for source in self.store.keys(owner) {
            for (place, target) in (self.store.objects[source]!.links[there.name] ?? []).enumerated() {
                // One direction of a symmetric relationship is enough.
                if isSymmetric, target < source { continue }
                var values = [source.number, target.number]
                if there.isOrdered { values.append(Int64(place) * 512) }
                if back.isOrdered {
                    values.append(Int64(self.store.objects[target]!.links[back.name]!.firstIndex(of: source)!) * 512)
                }
                try self.insert(values, name)
            }
        }
    }

    private func writeOneWay(_ owner: String, _ there: RelationshipDraft) throws {
        let name = "Z_\(self.numbers[owner]!)\(there.name.uppercased())"
        let columns = [
            "Z_\(self.numbers[owner]!)\(owner.uppercased())",
            "Z_\(self.numbers[there.destination]!)\(there.name.uppercased())",
        ]
        let order = there.isOrdered ? ", Z_FOK_\(columns[1].dropFirst(2)) INTEGER" : ""
        try self.database.run("CREATE TABLE \(name) (\(columns[0]) INTEGER, \(columns[1]) INTEGER\(order))")
        for source in self.store.keys(owner) {
            for (place, target) in (self.store.objects[source]!.links[there.name] ?? []).enumerated() {
                try self.insert([source.number, target.number] + (there.isOrdered ? [Int64(place)] : []), name)
            }
        }
    }

    private func insert(_ values: [Int64], _ table: String) throws {
        let places = values.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        try self.database.run("INSERT INTO \(table) VALUES (\(places))", values.map { .integer($0) })
    }
}
