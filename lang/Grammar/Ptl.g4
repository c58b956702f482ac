// Grammar of the .ptl language. Names of rules are those of the language reference.
//
// The parser does not see the lexer's lines. A filter between the two (lang/Parse/LineFilter.h) drops line ends where a
// statement goes on, ends every statement by exactly one NL, also before '}' and at the end of the file, and closes
// brackets that were forgotten. So each entry of a list of statements is `statement NL` here (`line` and its like), and
// after an error the parser finds its feet at the next NL.
//
// Some rules accept what the language refuses (`foreign`, a function that begins with a word other than 'fn'): the tree
// builder says so in one clean message, and the rest of the file is still understood.
grammar Ptl;

// ---- Files

file        : NL? itemLine* EOF ;

itemLine    : item NL ;
item        : importDecl | sizes | check | module | function | train | plan | cluster ;

importDecl  : IMPORT (path | STRING) ('as' name)? ;
sizes       : (DIM | CONST) bind (',' bind)* ;
bind        : name '=' expr ;
check       : ASSERT expr (',' STRING)? ;

// ---- Modules

module      : (MODULE | MODEL) name params? '{' memberLine* '}' ;
params      : '(' (param (',' param)* ','?)? ')' ;
param       : name (':' type)? ('=' expr)? ;

memberLine  : member NL ;
member      : sizes | check | weight | part | function ;
weight      : FROZEN? WEIGHT name ':' type ('=' expr)? ;
part        : FROZEN? name '=' repeat? expr ;
repeat      : REPEAT '(' (name IN)? expr ')' ;

// ---- Functions

function    : (FN | wrong=name) name params ('->' result)? (body | '=' expr) ;
result      : type | '(' type (',' type)* ','? ')' ;
body        : '{' line* '}' ;

line        : statement NL ;
statement   : letStmt | varStmt | assignStmt | forStmt | metricStmt | returnStmt | check | foreign ;
letStmt     : LET (name | names) (':' type)? '=' expr ;
varStmt     : VAR name (':' type)? '=' expr ;
assignStmt  : name '=' expr ;
forStmt     : FOR name IN expr body ;
metricStmt  : METRIC name '=' expr ;
returnStmt  : RETURN expr ;
foreign     : name expr? body ;                            // if c { }, while c { }
names       : '(' name (',' name)* ','? ')' ;

// ---- Types

type        : name? '[' ((rest='..' | dimension) (',' dimension)* ','?)? ']'    // [batch, seq], int[..], [.., ffn @ tp]
            | DIM
            | name ;                                       // int, float, bool: a number known at compile time
dimension   : path ('@' (name | names))? ;

// ---- Training, plans, clusters

train       : TRAIN path '{' directiveLine* '}' ;
plan        : PLAN name 'on' 'mesh' '(' (bind (',' bind)* ','?)? ')' ('of' path)? '{' directiveLine* '}' ;
cluster     : CLUSTER name '{' directiveLine* '}' ;

directiveLine : directive NL ;
directive   : name (entry (',' entry)*)?                   // a call without its parentheses
            | ASSERT name ('(' args? ')')? relation (measure | expr) ;
relation    : '<' | '<=' | '>' | '>=' ;
entry       : (label ':')? measure | arg ;
measure     : (INT | FLOAT) name ('/' name)? ;             // 80 GB, 900 GB/s

// ---- Expressions, from tight to loose

expr        : expr '(' args? ')'                           # Call
            | expr '[' args ']'                            # Index
            | expr '.' (name | INT)                        # Access
            | '-' expr                                     # Negate
            | expr op=('*' | '/' | '%' | '@') expr         # Binary
            | expr op=('+' | '-') expr                     # Binary
            | expr '..' expr                               # Range
            | expr op=('<' | '<=' | '>' | '>=' | '==' | '!=') expr # Binary
            | NOT expr                                     # Not
            | expr op=AND expr                             # Binary
            | expr op=OR expr                              # Binary
            | '(' (expr (',' expr)* ','?)? ')'             # Group
            | (INT | FLOAT)                                # Number
            | (TRUE | FALSE)                               # Bool
            | STRING                                       # Text
            | name                                         # Ref
            ;

args        : arg (',' arg)* ','? ;
arg         : (label ':')? expr ('->' expr)? ;
label       : path | IN ;

path        : name ('.' name)* ;
name        : NAME | 'as' | 'mesh' | 'of' | 'on' ;         // words of headers only stay names elsewhere

// ---- Tokens: the 24 reserved words first

IMPORT : 'import' ; DIM    : 'dim' ;    CONST  : 'const' ;  ASSERT : 'assert' ;  MODULE : 'module' ; MODEL   : 'model' ;
FROZEN : 'frozen' ; WEIGHT : 'weight' ; REPEAT : 'repeat' ; IN     : 'in' ;      FN     : 'fn' ;     LET     : 'let' ;
VAR    : 'var' ;    FOR    : 'for' ;    METRIC : 'metric' ; RETURN : 'return' ;  TRAIN  : 'train' ;  PLAN    : 'plan' ;
CLUSTER: 'cluster' ; NOT   : 'not' ;    AND    : 'and' ;    OR     : 'or' ;      TRUE   : 'true' ;   FALSE   : 'false' ;

LPAREN : '(' ; RPAREN : ')' ; LSQUARE : '[' ; RSQUARE : ']' ; LBRACE : '{' ; RBRACE : '}' ;
COMMA : ',' ; COLON : ':' ; ASSIGN : '=' ; ARROW : '->' ; DOT : '.' ; RANGE : '..' ;
PLUS : '+' ; MINUS : '-' ; STAR : '*' ; SLASH : '/' ; PERCENT : '%' ; AT : '@' ;
LESS : '<' ; LESSEQUAL : '<=' ; GREATER : '>' ; GREATEREQUAL : '>=' ; EQUAL : '==' ; NOTEQUAL : '!=' ;
AS : 'as' ; MESH : 'mesh' ; OF : 'of' ; ON : 'on' ;

NAME        : [A-Za-z_] [A-Za-z_0-9]* ;
FLOAT       : DIGITS '.' [0-9] [0-9_]* EXPONENT? | DIGITS EXPONENT ;
INT         : DIGITS ;
fragment DIGITS   : [0-9] [0-9_]* ;
fragment EXPONENT : [eE] [+-]? [0-9]+ ;

STRING      : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
OPEN_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* ;           // no closing quote before the end of the line

COMMENT     : '//' ~[\r\n]* -> channel(HIDDEN) ;
NL          : '\r'? '\n' | ';' ;
WS          : [ \t]+ -> channel(HIDDEN) ;
OTHER       : . ;                                          // the parser reports it: the lexer never fails
