/// Something that must hold of every answer does not.
package struct MeaningFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    static func unless(_ isRight: Bool, _ what: @autoclosure () -> String) throws(MeaningFailure) {
        if !isRight { throw MeaningFailure(what()) }
    }
}
