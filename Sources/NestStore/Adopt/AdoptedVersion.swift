import NestModel

/// One version of a model of Core Data, with what its file says about storage.
package struct AdoptedVersion: Sendable {
    package let name: String
    /// Whether it is the version that the app uses now.
    package let isCurrent: Bool
    package let model: ManagedObjectModel
    /// The attributes, as `Entity.attribute`, whose data Core Data may keep in files of their own.
    package let externalData: Set<String>
    /// The attributes that have a column, but that nest leaves out.
    package let leftOut: Set<String>

    package init(
        name: String,
        isCurrent: Bool,
        model: ManagedObjectModel,
        externalData: Set<String> = [],
        leftOut: Set<String> = []
    ) {
        self.name = name
        self.isCurrent = isCurrent
        self.model = model
        self.externalData = externalData
        self.leftOut = leftOut
    }
}
