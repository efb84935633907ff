// swift-format-ignore-file
// Written by `nestc model generate swift`. Do not edit: change the model, and write it again.

import Foundation
import NestClient

enum PhoneBookModel {}

extension PhoneBookModel {
    /// An object of the entity `Phone`.
    struct Phone: ModelEntity {
        static let entityName = "Phone"
        static let columns: [String] = [
            "number", "user",
        ]
        static let paths = Paths()

        let id: ObjectID
        var number: String
        var user: ObjectID

        init(row: FetchedRow) throws {
            self.id = row.id
            self.number = try row.value("number")
            self.user = try row.value("user")
        }

        /// The properties of `Phone` in predicates and sort keys.
        struct Paths: Sendable {
            let number = TypedPath<String>("number")
            let user = ToOnePath<PhoneBookModel.User>("user")
        }
    }
}

extension Assignment<PhoneBookModel.Phone> {
    static func number(_ value: String) -> Self { Self("number", value) }
    static func user(_ object: any ObjectReferring) -> Self { Self("user", object: object) }
}

extension PhoneBookModel {
    /// An object of the entity `User`.
    struct User: ModelEntity {
        static let entityName = "User"
        static let columns: [String] = [
            "name",
        ]
        static let paths = Paths()

        let id: ObjectID
        var name: String

        init(row: FetchedRow) throws {
            self.id = row.id
            self.name = try row.value("name")
        }

        /// The properties of `User` in predicates and sort keys.
        struct Paths: Sendable {
            let name = TypedPath<String>("name")
            let phones = ToManyPath<PhoneBookModel.Phone>("phones")
        }
    }
}

extension Assignment<PhoneBookModel.User> {
    static func name(_ value: String) -> Self { Self("name", value) }
}
