// swift-format-ignore-file
// Written by `nestc model generate swift`. Do not edit: change the model, and write it again.

import Foundation
import NestClient

enum Facts {}

extension Facts {
    /// An object of the entity `Post`.
    struct Post: ModelEntity {
        static let entityName = "Post"
        static let columns: [String] = [
            "number", "title", "user",
        ]
        static let paths = Paths()

        let id: ObjectID
        var number: Double
        var title: String
        var user: ObjectID

        init(row: FetchedRow) throws {
            self.id = row.id
            self.number = try row.value("number")
            self.title = try row.value("title")
            self.user = try row.value("user")
        }

        /// The properties of `Post` in predicates and sort keys.
        struct Paths: Sendable {
            let number = TypedPath<Double>("number")
            let title = TypedPath<String>("title")
            let user = ToOnePath<Facts.User>("user")
        }
    }
}

extension Assignment<Facts.Post> {
    static func number(_ value: Double) -> Self { Self("number", value) }
    static func title(_ value: String) -> Self { Self("title", value) }
    static func user(_ object: any ObjectReferring) -> Self { Self("user", object: object) }
}

extension Facts {
    /// An object of the entity `User`.
    struct User: ModelEntity {
        static let entityName = "User"
        static let columns: [String] = [
            "dob", "name",
        ]
        static let paths = Paths()

        let id: ObjectID
        var dob: Date?
        var name: String

        init(row: FetchedRow) throws {
            self.id = row.id
            self.dob = try row.value("dob")
            self.name = try row.value("name")
        }

        /// The properties of `User` in predicates and sort keys.
        struct Paths: Sendable {
            let dob = TypedPath<Date>("dob")
            let name = TypedPath<String>("name")
            let posts = ToManyPath<Facts.Post>("posts")
        }
    }
}

extension Assignment<Facts.User> {
    static func dob(_ value: Date?) -> Self { Self("dob", value) }
    static func name(_ value: String) -> Self { Self("name", value) }
}
