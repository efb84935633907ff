// swift-format-ignore-file
// Written by `nestc model generate swift`. Do not edit: change the model, and write it again.

import Foundation
import NestClient

enum TypesModel {}

extension TypesModel {
    /// An object of the entity `Date`.
    struct Date: ModelEntity {
        static let entityName = "Date"
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

        /// The properties of `Date` in predicates and sort keys.
        struct Paths: Sendable {
            let name = TypedPath<String>("name")
            let places = ToManyPath<TypesModel.Everything>("places")
            let things = ToManyPath<TypesModel.Everything>("things")
        }
    }
}

extension Assignment<TypesModel.Date> {
    static func name(_ value: String) -> Self { Self("name", value) }
}

extension TypesModel {
    /// An object of the entity `Everything`.
    struct Everything: ModelEntity {
        static let entityName = "Everything"
        static let columns: [String] = [
            "bytes", "class", "columns", "count", "essay", "flag", "init", "key", "link", "middle", "moment",
            "note", "order", "price", "real", "scan", "self", "self_", "short", "small", "text", "whole",
            "owner", "where",
        ]
        static let paths = Paths()

        let id: ObjectID
        var bytes: Data?
        var `class`: String?
        var columns_: String?
        var count: Int?
        var essay: LargeValue?
        var flag: Bool
        var init_: String?
        var key: UUID?
        var link: String?
        var middle: Int32?
        var moment: Foundation.Date?
        var note: String?
        var order: Int
        var price: Decimal?
        var real: Double?
        var scan: LargeValue?
        var self__: String?
        var self_: String?
        var short: Int16?
        var small: Float?
        var text: String
        var whole: Int
        var owner: ObjectID?
        var where_: ObjectID?

        init(row: FetchedRow) throws {
            self.id = row.id
            self.bytes = try row.value("bytes")
            self.`class` = try row.value("class")
            self.columns_ = try row.value("columns")
            self.count = try row.value("count")
            self.essay = try row.value("essay")
            self.flag = try row.value("flag")
            self.init_ = try row.value("init")
            self.key = try row.value("key")
            self.link = try row.value("link")
            self.middle = try row.value("middle")
            self.moment = try row.value("moment")
            self.note = try row.value("note")
            self.order = try row.value("order")
            self.price = try row.value("price")
            self.real = try row.value("real")
            self.scan = try row.value("scan")
            self.self__ = try row.value("self")
            self.self_ = try row.value("self_")
            self.short = try row.value("short")
            self.small = try row.value("small")
            self.text = try row.value("text")
            self.whole = try row.value("whole")
            self.owner = try row.value("owner")
            self.where_ = try row.value("where")
        }

        /// The properties of `Everything` in predicates and sort keys.
        struct Paths: Sendable {
            let bytes = TypedPath<Data>("bytes")
            let `class` = TypedPath<String>("class")
            let columns_ = TypedPath<String>("columns")
            let count = TypedPath<Int>("count")
            let essay = TypedPath<LargeValue>("essay")
            let flag = TypedPath<Bool>("flag")
            let init_ = TypedPath<String>("init")
            let key = TypedPath<UUID>("key")
            let link = TypedPath<String>("link")
            let middle = TypedPath<Int32>("middle")
            let moment = TypedPath<Foundation.Date>("moment")
            let note = TypedPath<String>("note")
            let order = TypedPath<Int>("order")
            let price = TypedPath<Decimal>("price")
            let real = TypedPath<Double>("real")
            let scan = TypedPath<LargeValue>("scan")
            let self__ = TypedPath<String>("self")
            let self_ = TypedPath<String>("self_")
            let short = TypedPath<Int16>("short")
            let small = TypedPath<Float>("small")
            let text = TypedPath<String>("text")
            let whole = TypedPath<Int>("whole")
            let owner = ToOnePath<TypesModel.Date>("owner")
            let where_ = ToOnePath<TypesModel.Date>("where")
        }
    }
}

extension Assignment<TypesModel.Everything> {
    static func bytes(_ value: Data?) -> Self { Self("bytes", value) }
    static func `class`(_ value: String?) -> Self { Self("class", value) }
    static func columns_(_ value: String?) -> Self { Self("columns", value) }
    static func count(_ value: Int?) -> Self { Self("count", value) }
    static func essay(_ value: LargeValue?) -> Self { Self("essay", value) }
    static func flag(_ value: Bool) -> Self { Self("flag", value) }
    static func init_(_ value: String?) -> Self { Self("init", value) }
    static func key(_ value: UUID?) -> Self { Self("key", value) }
    static func link(_ value: String?) -> Self { Self("link", value) }
    static func middle(_ value: Int32?) -> Self { Self("middle", value) }
    static func moment(_ value: Foundation.Date?) -> Self { Self("moment", value) }
    static func note(_ value: String?) -> Self { Self("note", value) }
    static func order(_ value: Int) -> Self { Self("order", value) }
    static func price(_ value: Decimal?) -> Self { Self("price", value) }
    static func real(_ value: Double?) -> Self { Self("real", value) }
    static func scan(_ value: LargeValue?) -> Self { Self("scan", value) }
    static func self__(_ value: String?) -> Self { Self("self", value) }
    static func self_(_ value: String?) -> Self { Self("self_", value) }
    static func short(_ value: Int16?) -> Self { Self("short", value) }
    static func small(_ value: Float?) -> Self { Self("small", value) }
    static func text(_ value: String) -> Self { Self("text", value) }
    static func whole(_ value: Int) -> Self { Self("whole", value) }
    static func owner(_ object: (any ObjectReferring)?) -> Self { Self("owner", object: object) }
    static func where_(_ object: (any ObjectReferring)?) -> Self { Self("where", object: object) }
}

extension TypesModel {
    /// An object of the entity `Values`.
    struct Values: ModelEntity {
        static let entityName = "Values"
        static let columns: [String] = [
            "Values",
        ]
        static let paths = Paths()

        let id: ObjectID
        var Values: String?

        init(row: FetchedRow) throws {
            self.id = row.id
            self.Values = try row.value("Values")
        }

        /// The properties of `Values` in predicates and sort keys.
        struct Paths: Sendable {
            let Values = TypedPath<String>("Values")
        }
    }
}

extension Assignment<TypesModel.Values> {
    static func Values(_ value: String?) -> Self { Self("Values", value) }
}

extension TypesModel {
    /// An object of the entity `__debug__`.
    struct __debug__: ModelEntity {
        static let entityName = "__debug__"
        static let columns: [String] = [
        ]
        static let paths = Paths()

        let id: ObjectID

        init(row: FetchedRow) throws {
            self.id = row.id
        }

        /// The properties of `__debug__` in predicates and sort keys.
        struct Paths: Sendable {
        }
    }
}

extension TypesModel {
    /// An object of the entity `__name__`.
    struct __name__: ModelEntity {
        static let entityName = "__name__"
        static let columns: [String] = [
        ]
        static let paths = Paths()

        let id: ObjectID

        init(row: FetchedRow) throws {
            self.id = row.id
        }

        /// The properties of `__name__` in predicates and sort keys.
        struct Paths: Sendable {
        }
    }
}

extension TypesModel {
    /// An object of the entity `init`.
    struct init_: ModelEntity {
        static let entityName = "init"
        static let columns: [String] = [
            "TypedPath", "_", "__", "__a", "__proto__", "constructor", "s", "values", "x__a", "ToOnePath",
        ]
        static let paths = Paths()

        let id: ObjectID
        var TypedPath_: String?
        var ___: String?
        var __: String?
        var __a: String?
        var __proto__: String?
        var constructor: String?
        var s: String?
        var values: String?
        var x__a: String?
        var ToOnePath_: ObjectID?

        init(row: FetchedRow) throws {
            self.id = row.id
            self.TypedPath_ = try row.value("TypedPath")
            self.___ = try row.value("_")
            self.__ = try row.value("__")
            self.__a = try row.value("__a")
            self.__proto__ = try row.value("__proto__")
            self.constructor = try row.value("constructor")
            self.s = try row.value("s")
            self.values = try row.value("values")
            self.x__a = try row.value("x__a")
            self.ToOnePath_ = try row.value("ToOnePath")
        }

        /// The properties of `init` in predicates and sort keys.
        struct Paths: Sendable {
            let TypedPath_ = TypedPath<String>("TypedPath")
            let ___ = TypedPath<String>("_")
            let __ = TypedPath<String>("__")
            let __a = TypedPath<String>("__a")
            let __proto__ = TypedPath<String>("__proto__")
            let constructor = TypedPath<String>("constructor")
            let s = TypedPath<String>("s")
            let values = TypedPath<String>("values")
            let x__a = TypedPath<String>("x__a")
            let ToManyPath_ = ToManyPath<TypesModel.init_>("ToManyPath")
            let ToOnePath_ = ToOnePath<TypesModel.init_>("ToOnePath")
            let then = ToManyPath<TypesModel.init_>("then")
            let where_ = ToManyPath<TypesModel.init_>("where")
        }
    }
}

extension Assignment<TypesModel.init_> {
    static func TypedPath_(_ value: String?) -> Self { Self("TypedPath", value) }
    static func ___(_ value: String?) -> Self { Self("_", value) }
    static func __(_ value: String?) -> Self { Self("__", value) }
    static func __a(_ value: String?) -> Self { Self("__a", value) }
    static func __proto__(_ value: String?) -> Self { Self("__proto__", value) }
    static func constructor(_ value: String?) -> Self { Self("constructor", value) }
    static func s(_ value: String?) -> Self { Self("s", value) }
    static func values(_ value: String?) -> Self { Self("values", value) }
    static func x__a(_ value: String?) -> Self { Self("x__a", value) }
    static func ToOnePath_(_ object: (any ObjectReferring)?) -> Self { Self("ToOnePath", object: object) }
}

extension TypesModel {
    /// An object of the entity `keyof`.
    struct keyof: ModelEntity {
        static let entityName = "keyof"
        static let columns: [String] = [
        ]
        static let paths = Paths()

        let id: ObjectID

        init(row: FetchedRow) throws {
            self.id = row.id
        }

        /// The properties of `keyof` in predicates and sort keys.
        struct Paths: Sendable {
        }
    }
}
