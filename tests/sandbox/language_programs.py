"""Small programs in every language, one for each thing that can become of a program."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Programs:
    """Sources of one language; `unbuildable` is empty where nothing is compiled."""

    echo: str
    """Writes the sum of two numbers that it reads."""
    crash: str
    """Ends with status 3 after a word on standard error."""
    spin: str
    """Never ends."""
    hoard: str
    """Takes memory and uses it, for ever."""
    chatter: str
    """Writes for ever."""
    daemon: str
    """Starts `sleep 300` apart from itself, writes `0` and ends."""
    unbuildable: str = ""


PROGRAMS = {
    "python": Programs(
        "print(sum(map(int, input().split())))\n",
        "import sys\nprint('bad', file=sys.stderr)\nsys.exit(3)\n",
        "while True: pass\n",
        "kept = []\nwhile True: kept.append(bytearray(b'x' * 1000000))\n",
        "while True: print('x' * 1000)\n",
        "import subprocess\nsubprocess.Popen(['sleep', '300'], start_new_session=True)\nprint(0)\n",
    ),
    "c": Programs(
        '#include <stdio.h>\nint main(void){int a,b;scanf("%d %d",&a,&b);printf("%d\\n",a+b);return 0;}\n',
        '#include <stdio.h>\nint main(void){fputs("bad\\n",stderr);return 3;}\n',
        "int main(void){volatile int x=0;for(;;)x++;}\n",
        "#include <stdlib.h>\n#include <string.h>\n"
        "int main(void){for(;;){volatile char*p=malloc(1000000);if(p)memset((void*)p,1,1000000);}}\n",
        '#include <stdio.h>\nint main(void){for(;;)puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");}\n',
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void){if(!fork()){setsid();execlp("sleep","sleep","300",NULL);}puts("0");return 0;}\n',
        "int main(void){return x;}\n",
    ),
    "cpp": Programs(
        "#include <iostream>\nint main(){long long a,b;std::cin>>a>>b;std::cout<<a+b<<std::endl;}\n",
        '#include <iostream>\nint main(){std::cerr<<"bad"<<std::endl;return 3;}\n',
        "int main(){volatile int x=0;for(;;)x=x+1;}\n",
        "#include <vector>\nint main(){std::vector<std::vector<char>> k;for(;;)k.emplace_back(1000000,'x');}\n",
        '#include <iostream>\nint main(){for(;;)std::cout<<"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\n";}\n',
        "#include <cstdio>\n#include <unistd.h>\n"
        'int main(){if(!fork()){setsid();execlp("sleep","sleep","300",nullptr);}std::puts("0");}\n',
        "int main(){return x;}\n",
    ),
    "javascript": Programs(
        'const [a,b]=require("fs").readFileSync(0,"utf8").split(/\\s+/).map(Number);console.log(a+b);\n',
        'console.error("bad");process.exit(3);\n',
        "for(;;){}\n",
        'const k=[];for(;;)k.push(Buffer.alloc(1000000,"x"));\n',
        'const fs=require("fs");for(;;)fs.writeSync(1,"x".repeat(1000));\n',
        'require("child_process").spawn("sleep",["300"],{detached:true,stdio:"ignore"}).unref();console.log(0);\n',
    ),
    "typescript": Programs(
        'const [a,b]:number[]=require("fs").readFileSync(0,"utf8").split(/\\s+/).map(Number);console.log(a+b);\n',
        'console.error("bad" as string);process.exit(3);\n',
        "let x:number=0;for(;;){x++;}\n",
        'const k:any[]=[];for(;;)k.push(Buffer.alloc(1000000,"x"));\n',
        'const fs:any=require("fs");for(;;)fs.writeSync(1,"x".repeat(1000));\n',
        'require("child_process").spawn("sleep",["300"],{detached:true,stdio:"ignore"} as any)'
        ".unref();console.log(0);\n",
        "const x: = ;\n",
    ),
    "java": Programs(
        "import java.util.*;\npublic class Sum { public static void main(String[] a) {\n"
        "Scanner s=new Scanner(System.in);System.out.println(s.nextInt()+s.nextInt());}}\n",
        'class Main { public static void main(String[] a) { System.err.println("bad"); System.exit(3); }}\n',
        "class Main { static volatile int x; public static void main(String[] a) { for(;;) x++; }}\n",
        "import java.util.*;\nclass Main { public static void main(String[] a) {\n"
        "List<byte[]> k=new ArrayList<>();for(;;){byte[] b=new byte[1000000];Arrays.fill(b,(byte)1);k.add(b);}}}\n",
        'class Main { public static void main(String[] a) { for(;;) System.out.println("xxxxxxxxxxxxxxxxxxxx"); }}\n',
        "class Main { public static void main(String[] a) throws Exception {\n"
        'new ProcessBuilder("setsid","sleep","300").start();System.out.println(0);}}\n',
        "class Main { int f() { return x; } }\n",
    ),
    "go": Programs(
        'package main\nimport "fmt"\nfunc main(){var a,b int;fmt.Scan(&a,&b);fmt.Println(a+b)}\n',
        'package main\nimport ("fmt";"os")\nfunc main(){fmt.Fprintln(os.Stderr,"bad");os.Exit(3)}\n',
        "package main\nvar x int\nfunc main(){for{x++}}\n",
        "package main\nvar k [][]byte\n"
        "func main(){for{b:=make([]byte,1000000);for i:=range b{b[i]=1};k=append(k,b)}}\n",
        'package main\nimport "fmt"\nfunc main(){for{fmt.Println("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")}}\n',
        'package main\nimport ("fmt";"os/exec")\n'
        'func main(){c:=exec.Command("setsid","sleep","300");c.Start();fmt.Println(0)}\n',
        "package main\nfunc main(){return x}\n",
    ),
    "rust": Programs(
        "use std::io::*;\nfn main(){let mut s=String::new();stdin().read_to_string(&mut s).unwrap();\n"
        'let t:i64=s.split_whitespace().map(|x|x.parse::<i64>().unwrap()).sum();println!("{}",t);}\n',
        'fn main(){eprintln!("bad");std::process::exit(3);}\n',
        "fn main(){let mut x=0u64;loop{unsafe{std::ptr::write_volatile(&mut x,1);}}}\n",
        "fn main(){let mut k=Vec::new();loop{k.push(vec![1u8;1000000]);}}\n",
        "use std::io::Write;\n"
        'fn main(){let mut o=std::io::stdout();loop{let _=writeln!(o,"xxxxxxxxxxxxxxxxxxxxxx");}}\n',
        'fn main(){let _=std::process::Command::new("setsid").args(["sleep","300"]).spawn();println!("0");}\n',
        "fn main(){x}\n",
    ),
    "bash": Programs(
        "read -r a b\necho $((a + b))\n",
        "echo bad >&2\nexit 3\n",
        "while :; do :; done\n",
        'x=$(head -c 1000000 /dev/zero | tr "\\0" x)\nk=$x\nwhile :; do k="$k$x"; done\n',
        "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n",
        "setsid sleep 300 >/dev/null 2>&1 &\necho 0\n",
    ),
}
