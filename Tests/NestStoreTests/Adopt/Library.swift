import NestModel
import NestStore
import NestTestSupport

/// A small store of an app: two shelves with three books each, one of which is in two parts.
enum Library {
    static var draft: ModelDraft {
        var shelf = EntityDraft(name: "Shelf")
        shelf.attributes = [.named("label", isOptional: false)]
        shelf.relationships = [.toMany("books", "Book", "shelf", isOrdered: true)]
        var book = EntityDraft(name: "Book")
        book.attributes = [
            .named("title", isOptional: false), .named("isbn"), .named("cover", .data), .named("size", .integer16),
        ]
        book.attributes[0].minimum = .integer(1)
        book.attributes[0].defaultValue = .string("Untitled")
        book.uniquenessConstraints = [["isbn"]]
        book.relationships = [
            .toOne("shelf", "Shelf", "books", isOptional: false), .toOne("whole", "Book", "parts"),
            .toMany("parts", "Book", "whole"),
        ]
        return ModelDraft(entities: [shelf, book])
    }

    static func app(_ draft: ModelDraft = Self.draft) -> AppStore {
        var app = AppStore(draft)
        app.externalData = ["Book.cover"]
        for number in 1...2 {
            app.objects[Self.shelf(number)] = .init(entity: "Shelf", values: ["label": .string("s\(number)")])
        }
        for number in 1...6 {
            app.objects[Self.book(number)] = .init(
                entity: "Book",
                values: [
                    "title": .string("b\(number)"), "isbn": .string("\(number)"), "size": .integer(Int64(number)),
                    "cover": .data([UInt8](repeating: UInt8(number), count: 10 * number)),
                ]
            )
        }
        let shelf = app.relationship("shelf", "Book")!
        let books = app.relationship("books", "Shelf")!
        // The order on the shelves is not that of the numbers.
        for number in [3, 1, 2, 6, 4, 5] { app.link(Self.book(number), shelf, Self.shelf(number <= 3 ? 1 : 2), books) }
        let (whole, parts) = (app.relationship("whole", "Book")!, app.relationship("parts", "Book")!)
        for number in [2, 3] { app.link(Self.book(number), whole, Self.book(1), parts) }
        return app
    }

    static func shelf(_ number: Int) -> AppStore.Key { .init(table: "Shelf", number: Int64(number)) }
    static func book(_ number: Int) -> AppStore.Key { .init(table: "Book", number: Int64(number)) }

    static func version(_ name: String, _ draft: ModelDraft, isCurrent: Bool = false) throws -> AdoptedVersion {
        AdoptedVersion(name: name, isCurrent: isCurrent, model: try draft.compile(), externalData: ["Book.cover"])
    }
}
