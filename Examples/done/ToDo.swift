// swift-format-ignore-file
// Written by `nestc model generate swift`. Do not edit: change the model, and write it again.

import Foundation
import NestClient

/// An object of the entity `ToDo`.
struct ToDo: ModelEntity {
    static let entityName = "ToDo"
    static let columns: [String] = [
        "createdAt", "done", "name",
    ]
    static let paths = Paths()

    let id: ObjectID
    var createdAt: Date
    var done: Bool
    var name: String

    init(row: FetchedRow) throws {
        self.id = row.id
        self.createdAt = try row.value("createdAt")
        self.done = try row.value("done")
        self.name = try row.value("name")
    }

    /// The properties of `ToDo` in predicates and sort keys.
    struct Paths: Sendable {
        let createdAt = TypedPath<Date>("createdAt")
        let done = TypedPath<Bool>("done")
        let name = TypedPath<String>("name")
    }
}

extension Assignment<ToDo> {
    static func createdAt(_ value: Date) -> Self { Self("createdAt", value) }
    static func done(_ value: Bool) -> Self { Self("done", value) }
    static func name(_ value: String) -> Self { Self("name", value) }
}
