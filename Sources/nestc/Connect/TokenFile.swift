import NestModel

/// The file that a token is kept in. A token is never an argument: other users can see those.
enum TokenFile {
    private static let bytesMax = 4_096

    static func read(_ path: String) throws -> AccessToken {
        guard let bytes = try PrivateFile.read(path, max: self.bytesMax) else {
            throw CommandFailure(.configuration, "there is no token file \(path)")
        }
        guard let token = AccessToken(text: String(decoding: bytes, as: UTF8.self)) else {
            throw CommandFailure(.configuration, "\(path) holds no token: 'nestc token create' makes one")
        }
        return token
    }
}
