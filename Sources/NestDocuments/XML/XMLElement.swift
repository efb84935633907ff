/// An element of an XML document with what is in it.
struct XMLElement: Equatable {
    var name: String
    var attributes: [String: String] = [:]
    var children: [XMLElement] = []
    /// Its text, if that is more than space.
    var text = ""

    init(_ name: String) {
        self.name = name
    }

    subscript(_ attribute: String) -> String? { self.attributes[attribute] }

    /// The attribute's value, if it is not empty.
    func text(_ attribute: String) -> String? { self[attribute].flatMap { $0.isEmpty ? nil : $0 } }

    func children(_ name: String) -> [XMLElement] { self.children.filter { $0.name == name } }
}
