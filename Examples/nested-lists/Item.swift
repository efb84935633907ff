// swift-format-ignore-file
// Written by `nestc model generate swift`. Do not edit: change the model, and write it again.

import Foundation
import NestClient

/// An object of the entity `Item`.
struct Item: ModelEntity {
    static let entityName = "Item"
    static let columns: [String] = [
        "done", "extra", "note", "title", "parent",
    ]
    static let paths = Paths()

    let id: ObjectID
    var done: Bool
    var extra: String?
    var note: String?
    var title: String
    var parent: ObjectID?

    init(row: FetchedRow) throws {
        self.id = row.id
        self.done = try row.value("done")
        self.extra = try row.value("extra")
        self.note = try row.value("note")
        self.title = try row.value("title")
        self.parent = try row.value("parent")
    }

    /// The properties of `Item` in predicates and sort keys.
    struct Paths: Sendable {
        let done = TypedPath<Bool>("done")
        let extra = TypedPath<String>("extra")
        let note = TypedPath<String>("note")
        let title = TypedPath<String>("title")
        let children = ToManyPath<Item>("children")
        let parent = ToOnePath<Item>("parent")
    }
}

extension Assignment<Item> {
    static func done(_ value: Bool) -> Self { Self("done", value) }
    static func extra(_ value: String?) -> Self { Self("extra", value) }
    static func note(_ value: String?) -> Self { Self("note", value) }
    static func title(_ value: String) -> Self { Self("title", value) }
    static func parent(_ object: (any ObjectReferring)?) -> Self { Self("parent", object: object) }
}
